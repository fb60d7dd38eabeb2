// Receivers that reject every delivery, or that no check can run against: whatever the fault, the report names the cause.

import { createServer } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import express from "express";
import { describe, expect, it } from "vitest";
import {
  type AuditOptions,
  auditReceiver,
  exitCodeOf,
  renderTextReport,
} from "workspace-tasks/check-receiver";
import { failedIds, oldSecret, respondingWith, secret } from "../../support/receivers/audit-fixture.ts";
import { startReferenceReceiver } from "../../support/receivers/reference-receiver.ts";
import {
  type RunningReceiver,
  serveReceiver,
  startPythonReceiver,
} from "../../support/receivers/served-receiver.ts";
import { createSelfSignedCertificate } from "../../support/self-signed-certificate.ts";
import { itWithPython } from "../../support/with-python.ts";
import { startMistakenReceiver, type Verification } from "./mistaken-receiver.ts";

const quick = { observeSettleMs: 40, observeTimeoutMs: 20_000, timeoutMs: 20_000 } as const;

/** A run that must fail with its first check; returns the report and its text in one line. */
async function failingAtOnce(url: string, options: Partial<AuditOptions> = {}) {
  const report = await auditReceiver({ url, secret, ...quick, ...options });
  expect(failedIds(report)).toEqual(["baseline.valid-delivery"]);
  expect(report.results).toHaveLength(1);
  expect(exitCodeOf(report)).toBe(1);
  return { report, text: renderTextReport(report).replace(/\s+/g, " ") };
}

const serialized = (text: string, indent?: number) => JSON.stringify(JSON.parse(text), null, indent);
const sortedKeys = (text: string) =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).toSorted()));

const base64 = (text: string) => Buffer.from(text, "base64");
const capitalized = (name: string) => `Webhook-${name[0]?.toUpperCase()}${name.slice(1)}`;
const headersAs = (nameOf: (name: string) => string): Partial<Verification> => ({
  header: (headers, name) => headers.get(nameOf(name)),
});
const hashing = (change: (body: string) => string): Partial<Verification> => ({
  content: ({ id, timestamp, body }) => `${id}.${timestamp}.${change(body)}`,
});
const secondsAgo = (seconds: number) => () => Date.now() / 1000 - seconds;

/**
 * Each mistake of verification, and what the report says of it. Without a Date header, as behind some proxies, only the
 * deliveries tell what the time is there.
 */
const mistakes: readonly (readonly [name: string, mistake: Partial<Verification>, cause: string])[] = [
  ["uses the text of the secret as key", { key: (text) => Buffer.from(text) }, "with its whsec_ prefix"],
  [
    "does not decode the key",
    { key: (text) => Buffer.from(text.slice(6)) },
    "the key is the text after whsec_",
  ],
  [
    "decodes the secret with its prefix",
    { key: base64 },
    "decodes the secret together with its whsec_ prefix",
  ],
  ["reads svix-… headers", headersAs((name) => `svix-${name}`), "It reads the headers svix-id"],
  [
    "reads x-webhook-… headers",
    headersAs((name) => `x-webhook-${name}`),
    "It reads the headers x-webhook-id",
  ],
  ["finds capitalized headers only", headersAs(capitalized), "only as Webhook-Id"],
  ["sorts the keys before hashing", hashing(sortedKeys), "with sorted keys, before hashing"],
  ["indents the body before hashing", hashing((body) => serialized(body, 2)), "indented, before hashing"],
  ["adds a newline before hashing", hashing((body) => `${body}\n`), "It adds a newline to the body"],
  ["hashes the body alone", { content: ({ body }) => body }, "It hashes the body alone"],
  ["leaves the id out", { content: ({ timestamp, body }) => `${timestamp}.${body}` }, "`timestamp.body`"],
  ["omits v1,", { signature: (digest) => digest.toString("base64") }, "without `v1,` in front"],
  ["uses hex", { signature: (digest) => `v1,${digest.toString("hex")}` }, "the signature in hexadecimal"],
  ["is an hour ahead", { now: secondsAgo(-3_600) }, "Its clock differs from this machine's by 3"],
  [
    "compares timestamps in milliseconds",
    { now: Date.now, tolerance: 300_000, sendsDate: false },
    "with a clock in milliseconds",
  ],
  ["is in another time zone", { now: secondsAgo(5 * 3_600), sendsDate: false }, "dated 5 h back"],
  [
    "rejects the event after verifying it",
    { accept: () => 422 },
    "It responds 401 to a forged delivery: it accepts the signature of the valid one, and rejects the event",
  ],
];

/** Starts a receiver that rejects for another reason than its verification. */
type Rejecting = readonly [
  name: string,
  start: () => Promise<RunningReceiver>,
  code: string,
  cause: string | RegExp,
  options?: Partial<AuditOptions>,
];

const responding =
  (status: number, headers = {}) =>
  () =>
    respondingWith((_, response) => void response.writeHead(status, headers).end());
const redirecting = (status: number) => responding(status, { location: "/webhooks/?token=1" });
const target = /fix A redirect is not followed: register the final URL, here \S+\/webhooks\/\./;

const startClosing = () => respondingWith((request) => void request.socket.destroy());
const late = { timeoutMs: 500, stallTimeoutMs: 5_000 };
const startSlow = () =>
  respondingWith((_, response) => {
    setTimeout(() => response.end(), 1_500);
  });
const startUnready = () => {
  let count = 0;
  return respondingWith((_, response) => {
    count += 1;
    response.writeHead(count === 1 ? 503 : 200).end();
  });
};
const startBehindJsonParser = () => {
  const app = express();
  app.use(express.json());
  app.post("/webhooks", express.raw({ type: () => true }), (request, response) => {
    response.status(Buffer.isBuffer(request.body) ? 200 : 400).end();
  });
  return serveReceiver(createServer(app));
};

const rejecting: readonly Rejecting[] = [
  ["rejects everything", responding(401), "REJECTED", "It has another secret"],
  ["is at another path", responding(404), "NOT_FOUND", "received 404"],
  ["takes another method", responding(405), "WRONG_ROUTE", "received 405"],
  ["redirects with 302", redirecting(302), "REDIRECTED", target],
  ["redirects with 307", redirecting(307), "REDIRECTED", target],
  ["fails", responding(500), "SERVER_ERROR", "received 500 fix Read its log"],
  ["closes the connection", startClosing, "CLOSED", "connection closed without a response fix Read its log"],
  ["rejects the first delivery only", startUnready, "SERVER_ERROR", "it was still starting"],
  ["responds late", startSlow, "NO_RESPONSE", /It responded 200 after \d{4} ms/, late],
  [
    "never responds, until the time limit of the run",
    () => respondingWith(() => {}),
    "NO_RESPONSE",
    "mount the handler before any body parser",
    { timeoutMs: 200, stallTimeoutMs: 600_000, runTimeoutMs: 1_000 },
  ],
  ["parses JSON first", startBehindJsonParser, "REJECTED", "a JSON body parser consumes the body"],
  [
    "has only the secret given as --old-secret",
    () => startReferenceReceiver({ secrets: [oldSecret] }),
    "REJECTED",
    "It knows the secret given as --old-secret",
    { oldSecret },
  ],
];

/** Starts what no check can run against. */
type Unusable = readonly [
  name: string,
  start: () => Promise<RunningReceiver>,
  code: string,
  hint: string,
  optionsOf?: (receiver: RunningReceiver) => Partial<AuditOptions>,
];

const startSsh = () => {
  const greet = (socket: Socket) => void socket.resume().end("SSH-2.0-example\r\n");
  return serveReceiver(createTcpServer((socket) => greet(socket.on("error", () => {}))));
};
const startReference = () => startReferenceReceiver({ secrets: [secret] });
const startTotal = () => startReferenceReceiver({ secrets: [secret], totalOnly: true });
const overTls = ({ url }: RunningReceiver) => ({ url: url.replace("http:", "https:") });
const observedElsewhere = ({ url }: RunningReceiver) => ({ observeUrl: new URL("/elsewhere", url).href });

const unusable: readonly Unusable[] = [
  ["does not speak HTTP", startSsh, "NOT_HTTP", ""],
  [
    "has a certificate that is not trusted",
    () => startReferenceReceiver({ secrets: [secret], tls: createSelfSignedCertificate(Date.now()) }),
    "UNREACHABLE",
    "NODE_EXTRA_CA_CERTS",
  ],
  ["has no TLS", startReference, "UNREACHABLE", "does not speak TLS", overTls],
  ["has an observe URL without counts", startReference, "OBSERVE_URL", "", observedElsewhere],
  [
    "has an observe URL that returns a total",
    startTotal,
    "OBSERVE_URL",
    "",
    ({ observeUrl }) => ({ observeUrl }),
  ],
];

describe.concurrent("check-receiver against receivers that reject a valid delivery", () => {
  it.each(mistakes)(
    "check-receiver fails a receiver that %s, and names the cause",
    async (_, mistake, cause) => {
      await using receiver = await startMistakenReceiver(secret, mistake);
      const { report, text } = await failingAtOnce(receiver.url);
      expect(text).toContain(cause);
      expect(text).not.toContain(secret.slice("whsec_".length));
      expect(report.problem?.hints).toHaveLength(1);
    },
  );

  it.for(rejecting)(
    "check-receiver fails a receiver that %s, and names the cause",
    async ([, start, code, cause, options]) => {
      await using receiver = await start();
      const { report, text } = await failingAtOnce(receiver.url, options);
      expect(report.problem?.code).toBe(code);
      expect(text).toMatch(cause);
      expect(text).not.toContain(secret.slice("whsec_".length));
    },
  );

  itWithPython(
    "check-receiver names Python's json.dumps when it changes the body before hashing",
    async () => {
      await using receiver = await startPythonReceiver(secret, 5, "serializes-the-body-again");
      const { text } = await failingAtOnce(receiver.url);
      expect(text).toContain("as Python's json.dumps does");
    },
  );

  it("check-receiver stops looking for the cause when it is stopped", async () => {
    const stopping = new AbortController();
    await using receiver = await respondingWith((request, response) => {
      if (request.headers["content-type"] === "text/plain") stopping.abort();
      else response.writeHead(400).end();
    });
    const { text } = await failingAtOnce(receiver.url, { signal: stopping.signal });
    expect(text).toContain("It has another secret");
  });
});

describe.concurrent("check-receiver where no check can run", () => {
  it.for(unusable)(
    "check-receiver exits with 2 and names the problem of a receiver that %s",
    async ([, start, code, hint, optionsOf]) => {
      await using receiver = await start();
      const report = await auditReceiver({ url: receiver.url, secret, ...quick, ...optionsOf?.(receiver) });
      expect([report.problem?.code, exitCodeOf(report)]).toEqual([code, 2]);
      expect(report.problem?.hints.join()).toContain(hint);
    },
  );
});

it("a stopped run of check-receiver leaves no connection open", async () => {
  const stopping = new AbortController();
  const open = new Set<unknown>();
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    if (requests === 1) response.end();
    else stopping.abort();
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
  });
  await using receiver = await serveReceiver(server);
  const { signal } = stopping;
  await auditReceiver({ url: receiver.url, secret, signal, only: ["events"], timeoutMs: 60_000 });
  await expect.poll(() => open.size).toBe(0);
});
