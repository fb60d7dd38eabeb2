import { createServer } from "node:http";
import {
  createReceiver,
  type Inbox,
  NonRetryableError,
  type Receiver,
  type ReconcilableTask,
  silentLogger,
} from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { inboxPage } from "@workspace-tasks/receiver-kit/page";
import express from "express";
import { expect, vi } from "vitest";
import { type InboxStore, storeOf } from "../../../../receiver-kit/inbox/inbox.ts";
import { newRowOf } from "../../../support/inbox-rows.ts";
import { listen } from "../../../support/listen.ts";
import { completedEvent, sampleEvent } from "../../../support/sample-event.ts";
import { secretA, signDelivery } from "../../../support/signed-delivery.ts";

/** A receiver of three tenants over HTTP, of which one has trouble; what failed can be healed. */
export interface TroubledInbox extends AsyncDisposable {
  readonly origin: string;
  readonly inbox: InboxStore;
  readonly receiver: Receiver<unknown>;
  /** Sends an event as the service does; returns its id. */
  send(tenant: string, event: Readonly<Record<string, unknown>>): Promise<string>;
  /** What the tax service of the handlers does from here on. */
  setTaxService(isUp: boolean): void;
}

export const taxServiceAway = "connect ECONNREFUSED 10.0.0.7:443 (the tax service)";
export const withoutAmount = "Cannot read properties of undefined (reading 'amount')";

const hourMs = 3_600_000;
const tenants = ["acme", "bolt", "cobalt"];
export const taskOf = (n: number) => `019bc186-de00-7000-8000-${String(n).padStart(12, "0")}`;

export interface TroubledInboxOptions {
  readonly readOnly?: boolean;
  /** It is called before each event is sent. */
  readonly onSend?: () => void;
}

/** Serves its page at `/inbox`. */
export async function createTroubledInbox(
  inbox: Inbox<unknown>,
  { onSend, ...settings }: TroubledInboxOptions = {},
): Promise<TroubledInbox> {
  let isUp = false;
  const changed: ReconcilableTask[] = [];
  const client = {
    tasks: {
      async *list({ ids, offset = 0 }: { readonly ids?: readonly string[]; readonly offset?: number }) {
        if (offset === 0) yield* changed.filter(({ id }) => !ids || ids.includes(id));
      },
    },
  };
  const receiver = createReceiver({
    inbox,
    logger: silentLogger,
    pollMs: 50,
    // Reconciling begins soon.
    random: () => 0.02,
    retry: { firstDelayMs: 0.2 * hourMs, attemptsMax: 5 },
    secrets: {
      byTenant: ({ path }) => {
        const id = tenants.find((name) => path === `/webhooks/${name}`);
        return id === undefined ? undefined : { id, workspaceId: `workspace-${id}`, secrets: [secretA] };
      },
    },
    reconcile: { client: () => [{ tenant: { id: "acme", workspaceId: "workspace-acme" }, client }] },
  });
  receiver.onState("task", ({ event, taskType, clientId }) => {
    if (clientId?.startsWith("throw ")) throw new Error(clientId);
    if (taskType === "BINDER") throw new TypeError(withoutAmount);
    if (taskType === "TAX_REVIEW" && !isUp) throw new Error(taxServiceAway);
    if (event === "task.failed" && !isUp) throw new NonRetryableError(taxServiceAway);
  });
  const app = express();
  app.post("/webhooks/:tenant", webhookMiddleware(receiver));
  app.use("/inbox", inboxPage(receiver, { authorize: () => "ada", showBodies: true, ...settings }));
  const server = await listen(createServer(app));
  let sent = 0;
  const send: TroubledInbox["send"] = async (tenant, event) => {
    sent++;
    onSend?.();
    const delivery = signDelivery({
      id: `019bc186-0000-7000-8000-${String(sent).padStart(12, "0")}`,
      body: JSON.stringify({ ...event, workspaceId: `workspace-${tenant}` }),
      timestampSeconds: Math.floor(Date.now() / 1_000),
    });
    const { status } = await fetch(`${server.origin}/webhooks/${tenant}`, {
      method: "POST",
      headers: { ...delivery.headers, "content-type": "application/json" },
      body: new Uint8Array(delivery.body),
    });
    expect(status).toBe(200);
    return delivery.id;
  };
  const fixture: TroubledInbox = {
    origin: server.origin,
    inbox: storeOf(inbox),
    receiver: receiver as Receiver<unknown>,
    send,
    setTaxService: (up) => {
      isUp = up;
    },
    async [Symbol.asyncDispose]() {
      await receiver.close();
      await server[Symbol.asyncDispose]();
    },
  };
  changed.push({
    id: taskOf(900),
    type: "TAX_PREP",
    status: "COMPLETED",
    startedAt: at(-9),
    completedAt: at(-2),
    subTasks: [],
  });
  await inbox.open();
  await leaveLease(fixture);
  await makeTrouble(fixture);
  return fixture;
}

const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();

/** The only process of another receiver, which has claimed events, and ended. */
async function leaveLease({ inbox, receiver }: TroubledInbox): Promise<void> {
  const source = "billing";
  for (const n of [800, 801])
    await inbox.insert(newRowOf(sampleEvent({ taskId: taskOf(n) }), { source, id: `msg_${n}` }));
  const { claims } = await inbox.claim({
    source,
    worker: "worker-that-ended",
    rowsMax: 2,
    rowsPerKeyMax: 1,
    bytesMax: 1_000_000,
    leaseMs: 1_000,
    retry: { firstDelayMs: 1_000, delayMsMax: hourMs },
    attemptsMax: 5,
    keyOrder: "latest",
  });
  expect(claims).toHaveLength(2);
  await receiver.start();
}

/** Events that are handled, that wait for their next attempt, that are dead of two errors, stale, or no events at all. */
async function makeTrouble({ inbox, send }: TroubledInbox): Promise<void> {
  for (let n = 0; n < 30; n++)
    await send(
      "bolt",
      sampleEvent({ taskId: taskOf(100 + n), occurredAt: at(-20), clientId: `client-${n % 4}` }),
    );
  for (let n = 0; n < 12; n++) {
    await send("acme", sampleEvent({ taskId: taskOf(200 + n), occurredAt: at(-15) }));
    await send("acme", completedEvent({ taskId: taskOf(200 + n), occurredAt: at(-10) }));
  }
  for (let n = 0; n < 5; n++)
    await send("acme", failedEvent({ taskId: taskOf(300 + n), occurredAt: at(-8) }));
  for (let n = 0; n < 3; n++)
    await send("acme", sampleEvent({ taskId: taskOf(400 + n), taskType: "TAX_REVIEW", occurredAt: at(-6) }));
  await send("bolt", sampleEvent({ taskId: taskOf(500), taskType: "BINDER", occurredAt: at(-5) }));
  await send("acme", sampleEvent({ taskId: taskOf(200), occurredAt: at(-12) }));
  await send("bolt", { event: "task.running", taskId: 7 });
  const counts = async () => {
    const rows = await inbox.list({ limit: 1_000 });
    const count = (of: (row: (typeof rows)[number]) => boolean) => rows.filter(of).length;
    return {
      dead: count(({ state }) => state === "dead"),
      failing: count(({ state, lastError }) => state === "pending" && lastError !== null),
      stale: count(({ state }) => state === "stale"),
      quarantined: count(({ state }) => state === "quarantined"),
      reconciled: count(({ channel, state }) => channel === "reconcile" && state === "done"),
    };
  };
  const expected = { dead: 5, failing: 4, stale: 1, quarantined: 1, reconciled: 1 };
  await vi.waitFor(async () => expect(await counts()).toEqual(expected), { timeout: 30_000, interval: 20 });
}

export const failedEvent = (fields: Readonly<Record<string, unknown>>) =>
  sampleEvent({ event: "task.failed", status: "FAILED", errorMessage: "the W-2 cannot be read", ...fields });
