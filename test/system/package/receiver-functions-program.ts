// Receivers whose options are functions that fail.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createReceiver,
  type MemoryTransaction,
  type ReceiverOptions,
  silentLogger,
} from "@workspace-tasks/receiver-kit";
import {
  dedupeWebhook,
  orderWebhook,
  verifyWebhook,
  webhookMiddleware,
} from "@workspace-tasks/receiver-kit/express";
import { auditReceiver } from "workspace-tasks/check-receiver";
import { type Clock, systemClock } from "../../../sdk/kernel/clock.ts";
import { memoryInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import { listen } from "../../support/listen.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../../support/signed-delivery.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";
import { hostile, printOutcomes } from "./hostile-functions.ts";

type Options = Partial<ReceiverOptions<MemoryTransaction>>;

/** Time limits of seconds take a fiftieth of that. */
const clock: Clock = {
  ...systemClock,
  schedule: (delayMs, run, options) => systemClock.schedule(delayMs / 50, run, options),
};
const body = JSON.stringify(sampleEvent());

function signed(secret: string, text = body) {
  return signDelivery({ body: text, secret, timestampSeconds: Math.floor(Date.now() / 1_000) });
}

const requestOf = ({ headers, body }: ReturnType<typeof signed>) =>
  new Request("http://localhost/webhooks", { method: "POST", headers, body: new Uint8Array(body) });

/** What becomes of one delivery: the status of the response, and the state of its row. */
async function receive(
  options: Options,
  {
    secret = secretA,
    text = body,
    handler = () => {},
  }: {
    readonly secret?: string;
    readonly text?: string;
    readonly handler?: () => void | Promise<void>;
  } = {},
): Promise<string> {
  const receiver = createReceiver<MemoryTransaction>({
    secrets: [secretA],
    inbox: memoryInbox(),
    clock,
    logger: silentLogger,
    retry: { attemptsMax: 1 },
    handlerTimeoutMs: 2_000,
    pollMs: 100,
    ...options,
  });
  receiver.on("*", handler);
  await receiver.start();
  const { status } = await receiver.fetch(requestOf(signed(secret, text)));
  const ended = async () => {
    const { inbox, running, attempts } = await receiver.stats();
    if (running > 0 || inbox.rows.waiting > 0) return undefined;
    return Object.entries({ ...inbox.rows, ...attempts }).find(([, count]) => count > 0)?.[0] ?? "none";
  };
  let state = await ended();
  while (state === undefined) {
    await new Promise((resolve) => void setTimeout(resolve, 2));
    state = await ended();
  }
  await receiver.close();
  return `${status} ${state}`;
}

/** What throws at once is the case of the function itself. */
const hostileSecrets = () => Promise.resolve().then(hostile) as never;

const failing = () => {
  throw new Error("of the handler");
};

/** The status of one request to a server with middlewares. */
async function request(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  secret = secretA,
) {
  await using server = await listen(createServer(handle));
  const { headers, body } = signed(secret);
  return (await fetch(server.origin, { method: "POST", headers, body: new Uint8Array(body) })).status;
}

const unavailable = overrideInbox(memoryInbox(), {
  beginInline: async () => Promise.reject(new Error("down")),
  advanceHead: async () => Promise.reject(new Error("down")),
});

/** A chain of the composable middlewares. */
const through =
  (last: ReturnType<typeof dedupeWebhook>, onRejected = () => {}) =>
  (request: IncomingMessage, response: ServerResponse) =>
    verifyWebhook({ secrets: [secretA], onRejected })(request as never, response, () =>
      last(request as never, response, () => response.end()),
    );

const pass = ((_request: unknown, response: ServerResponse) => response.end()) as never;

async function audit(): Promise<string> {
  const receiver = createReceiver({ secrets: [secretA], inbox: memoryInbox(), logger: silentLogger });
  receiver.on("*", () => {});
  await receiver.start();
  await using server = await listen(createServer(webhookMiddleware(receiver)));
  const options = { url: server.origin, secret: secretA, only: ["headers"] } as const;
  const { results } = await auditReceiver({ ...options, onProgress: hostile });
  await receiver.close();
  return results.length > 0 ? "reported" : "nothing";
}

const quiet = {
  accept: (_: unknown, run: () => unknown) => run(),
  handle: (_: unknown, run: () => unknown) => run(),
};
const telemetry = (part: object) => ({ ...quiet, observe: () => () => {}, ...part }) as never;

await printOutcomes({
  secrets: () => receive({ secrets: hostile }),
  "secrets.byTenant": () => receive({ secrets: { byTenant: hostile } }),
  "secrets of a tenant": () =>
    receive({ secrets: { byTenant: () => ({ id: "a", workspaceId: "w", secrets: hostileSecrets() }) } }),
  "a secret of a list": () => receive({ secrets: () => [hostileSecrets()] }),
  random: () =>
    receive(
      { random: hostile, retry: { attemptsMax: 2, firstDelayMs: 1, delayMsMax: 1 } },
      { handler: failing },
    ),
  logger: () => receive({ logger: { info: hostile, warn: hostile, error: hostile } }, { handler: failing }),
  "logger of a rejection": () =>
    receive({ logger: { info: hostile, warn: hostile, error: hostile } }, { secret: secretX }),
  onRejected: () => receive({ onRejected: hostile }, { secret: secretX }),
  onQuarantined: () => receive({ onQuarantined: hostile }, { text: "[]" }),
  onDead: () => receive({ onDead: hostile }, { handler: failing }),
  "telemetry.accept": () => receive({ telemetry: telemetry({ accept: hostile }) }),
  "telemetry.handle": () => receive({ telemetry: telemetry({ handle: hostile }) }),
  "telemetry.observe": () => receive({ telemetry: telemetry({ observe: hostile }) }),
  "end of telemetry.observe": () => receive({ telemetry: telemetry({ observe: () => hostile }) }),
  handler: () => receive({}, { handler: hostile }),
  "verifyWebhook onRejected": () => request(through(pass, hostile), secretX),
  "dedupeWebhook onError": () => request(through(dedupeWebhook({ inbox: unavailable, onError: hostile }))),
  "orderWebhook onError": () => request(through(orderWebhook({ inbox: unavailable, onError: hostile }))),
  "auditReceiver onProgress": audit,
  "sqliteInbox driver": () =>
    sqliteInbox({ path: "/tmp/workspace-tasks-never-opened.db", driver: hostile })
      .open()
      .then(
        () => "opened",
        ({ code }: { code?: string }) => code,
      ),
});
