// Receivers that reject every delivery, or that only look careful: whatever the fault, the verdict is exit code 1, and
// the report names the cause.

import { createServer, type RequestListener } from "node:http";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, it } from "vitest";
import {
  type AuditOptions,
  type AuditReport,
  auditChecks,
  auditReceiver,
  exitCodeOf,
  renderTextReport,
} from "workspace-tasks/receiver-kit/audit";
import { startLibraryReceiver, type Verify } from "../support/receivers/library-receiver.ts";
import { startMistakenReceiver, type Verification } from "../support/receivers/mistaken-receiver.ts";
import { type RunningReceiver, serveReceiver } from "../support/receivers/running-receiver.ts";
import { type PythonFlaw, startPythonReceiver } from "../support/receivers/served-receiver.ts";
import { itWithPython } from "../support/with-python.ts";

const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
const quick = { observeSettleMs: 40, observeTimeoutMs: 20_000, timeoutMs: 20_000 } as const;

const respondingWith = (listener: RequestListener): Promise<RunningReceiver> =>
  serveReceiver(createServer(listener));

const failedIds = ({ results }: AuditReport) =>
  results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id);

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

/** Each mistake of verification, and what the report says of it. */
const mistakes: readonly (readonly [name: string, mistake: Partial<Verification>, cause: string])[] = [
  ["uses the text of the secret as key", { key: (text) => Buffer.from(text) }, "with its whsec_ prefix"],
  [
    "uses the text after whsec_ as key",
    { key: (text) => Buffer.from(text.slice(6)) },
    "It uses the text of the secret as the key; the key is the text after whsec_",
  ],
  [
    "decodes the secret with its prefix",
    { key: (text) => Buffer.from(text, "base64") },
    "decodes the secret together with its whsec_ prefix",
  ],
  [
    "reads svix-… headers",
    { header: (headers, name) => headers.get(`svix-${name}`) },
    "It reads the headers svix-id",
  ],
  [
    "reads x-webhook-… headers",
    { header: (headers, name) => headers.get(`x-webhook-${name}`) },
    "It reads the headers x-webhook-id",
  ],
  [
    "finds capitalized headers only",
    { header: (headers, name) => headers.get(`Webhook-${name[0]?.toUpperCase()}${name.slice(1)}`) },
    "only as Webhook-Id",
  ],
  [
    "sorts the keys of the body before hashing",
    { content: ({ id, timestamp, body }) => `${id}.${timestamp}.${sortedKeys(body)}` },
    "with sorted keys, before hashing",
  ],
  [
    "indents the body before hashing",
    { content: ({ id, timestamp, body }) => `${id}.${timestamp}.${serialized(body, 2)}` },
    "indented, before hashing",
  ],
  [
    "adds a newline to the body before hashing",
    { content: ({ id, timestamp, body }) => `${id}.${timestamp}.${body}\n` },
    "It adds a newline to the body",
  ],
  ["hashes the body alone", { content: ({ body }) => body }, "It hashes the body alone"],
  ["leaves the id out", { content: ({ timestamp, body }) => `${timestamp}.${body}` }, "`timestamp.body`"],
  [
    "compares the signature without v1,",
    { signature: (digest) => digest.toString("base64") },
    "without `v1,` in front",
  ],
  [
    "compares a hexadecimal signature",
    { signature: (digest) => `v1,${digest.toString("hex")}` },
    "It expects the signature in hexadecimal",
  ],
  [
    "has a clock that is an hour ahead",
    { now: () => Date.now() / 1000 + 3_600 },
    "Its clock differs from this machine's by 3",
  ],
  [
    "rejects the event after verifying it",
    { accept: () => 422 },
    "It responds 401 to a forged delivery: it accepts the signature of the valid one, and rejects the event",
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

  it.each<[string, Partial<Verification>, string]>([
    ["milliseconds", { now: Date.now, tolerance: 300_000 }, "with a clock in milliseconds"],
    ["another time zone", { now: () => Date.now() / 1000 - 5 * 3_600 }, "dated 5 h back"],
  ])("check-receiver fails a receiver that compares timestamps in %s", async (_, mistake, cause) => {
    // Without a Date header, as behind some proxies, only the deliveries tell.
    await using receiver = await startMistakenReceiver(secret, { ...mistake, sendsDate: false });
    expect((await failingAtOnce(receiver.url)).text).toContain(cause);
  });

  it("check-receiver fails a receiver that rejects everything, and names the usual causes", async () => {
    await using receiver = await respondingWith((_, response) => void response.writeHead(401).end());
    const { report, text } = await failingAtOnce(receiver.url);
    expect(text).toContain("It has another secret");
    expect(text).toContain("No other check ran");
    expect(report.problem).toMatchObject({ code: "REJECTED" });
  });

  it.each([302, 307])(
    "check-receiver fails a receiver that redirects with %i, and names the target",
    async (status) => {
      await using receiver = await respondingWith((_, response) => {
        response.writeHead(status, { location: "/webhooks/?token=1" }).end();
      });
      const { report, text } = await failingAtOnce(receiver.url);
      expect(text).toContain(`received ${status} fix A redirect is not followed`);
      expect(report.problem?.hints).toEqual([
        `A redirect is not followed: register the final URL, here ${receiver.url}/.`,
      ]);
    },
  );

  it("check-receiver fails a receiver that is too slow, and tells how long it took", async () => {
    await using receiver = await respondingWith((_, response) => {
      setTimeout(() => response.end(), 1_500);
    });
    const limits = { timeoutMs: 500, stallTimeoutMs: 5_000 };
    const { report, text } = await failingAtOnce(receiver.url, limits);
    expect(report.problem?.code).toBe("NO_RESPONSE");
    expect(text).toMatch(/It responded 200 after \d{4} ms/);
  });

  it("check-receiver shows what a receiver says that fails on a valid delivery, without secrets", async () => {
    await using receiver = await respondingWith((_, response) => {
      response
        .writeHead(500)
        .end(`Error: column "status" does not exist (${secret})\n    at handle (/srv/app.js:7:9)`);
    });
    const { report, text } = await failingAtOnce(receiver.url);
    expect(report.results[0]?.response).toBe('Error: column "status" does not exist (whsec_…)');
    expect(text).toContain(
      'received 500 response Error: column "status" does not exist (whsec_…) fix Read its log',
    );
  });

  it("check-receiver shows what a receiver says with the first 5xx of a failed check", async () => {
    await using receiver = await respondingWith((request, response) => {
      const isForm = request.headers["content-type"] === "application/x-www-form-urlencoded";
      response.writeHead(isForm ? 502 : 200).end(isForm ? "unexpected form" : "");
    });
    const only = auditChecks.map(({ id }) => id).filter((id) => id.startsWith("content-type"));
    const { results } = await auditReceiver({ url: receiver.url, secret, ...quick, only });
    const said = results.flatMap(({ outcome, response }) => (outcome === "failed" ? [response] : []));
    expect(said).toContain("unexpected form");
  });

  it("check-receiver fails a receiver that closes the connection on every delivery", async () => {
    await using receiver = await respondingWith((request) => void request.socket.destroy());
    const { text } = await failingAtOnce(receiver.url);
    expect(text).toContain("received connection closed without a response fix Read its log");
  });

  it("check-receiver says that a receiver accepts the second delivery when it rejected the first only", async () => {
    let count = 0;
    await using receiver = await respondingWith((_, response) => {
      count += 1;
      response.writeHead(count === 1 ? 503 : 200).end();
    });
    expect((await failingAtOnce(receiver.url)).text).toContain("it was still starting");
  });

  it("check-receiver stops looking for the cause when it is stopped", async () => {
    const stopping = new AbortController();
    await using receiver = await respondingWith((request, response) => {
      if (request.headers["content-type"] === "text/plain") stopping.abort();
      else response.writeHead(400).end();
    });
    const { text } = await failingAtOnce(receiver.url, { signal: stopping.signal, timeoutMs: 20_000 });
    expect(text).toContain("It has another secret");
  });
});

describe("a run of check-receiver that ends early", () => {
  it("a stopped run leaves no connection open", async () => {
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

  it("a receiver that never responds ends the run at its time limit", async () => {
    await using receiver = await respondingWith(() => {});
    const limits = { timeoutMs: 200, stallTimeoutMs: 600_000, runTimeoutMs: 1_000 };
    const { text } = await failingAtOnce(receiver.url, limits);
    expect(text).toContain("mount the handler before any body parser");
  });
});

const musts = auditChecks.filter(({ requirement }) => requirement === "MUST").map(({ id }) => id);

describe.concurrent("check-receiver against careful receivers on the official libraries", () => {
  it.each<[string, Verify]>([
    ["standardwebhooks", (body, headers) => new StandardWebhook(secret).verify(body, headers)],
    ["svix", (body, headers) => new SvixWebhook(secret).verify(body, headers)],
  ])("every MUST passes for %s on the raw body with a store of ids", async (_, verify) => {
    await using receiver = await startLibraryReceiver(verify);
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, only: musts, ...quick });
    expect(failedIds(report)).toEqual([]);
    expect(exitCodeOf(report)).toBe(0);
  });

  it("svix on the parsed body fails, because it hashes another text than was signed", async () => {
    const webhook = new SvixWebhook(secret);
    await using receiver = await startLibraryReceiver((body, headers) =>
      webhook.verify(serialized(body), headers),
    );
    const only = ["signature.reserialised", "signature.exact-bytes"];
    const report = await auditReceiver({ url: receiver.url, secret, only, ...quick });
    expect(failedIds(report)).toEqual(only);
    expect(exitCodeOf(report)).toBe(1);
  });
});

/** Which checks detect a flaw of the receiver in Python. */
const pythonFlaws: Readonly<Record<PythonFlaw, readonly string[]>> = {
  "uses-the-text-as-key": ["baseline.valid-delivery"],
  "serializes-the-body-again": ["baseline.valid-delivery"],
  "checks-no-age": ["timestamp.stale", "timestamp.future"],
  "compares-a-prefix": ["signature.truncated"],
  "requires-a-task": ["events.catalog"],
  "responds-409-to-duplicates": ["duplicates.again"],
};

describe.concurrent("check-receiver against receivers in Python", () => {
  for (const [flaw, detectedBy] of Object.entries(pythonFlaws)) {
    itWithPython(`check-receiver fails a receiver in Python that ${flaw}`, async () => {
      await using receiver = await startPythonReceiver(secret, 5, flaw as PythonFlaw);
      const report = await auditReceiver({ url: receiver.url, secret, only: detectedBy, ...quick });
      expect(failedIds(report)).toEqual(detectedBy);
      expect(exitCodeOf(report)).toBe(1);
      if (flaw === "serializes-the-body-again") {
        expect(report.problem?.hints.join()).toContain("as Python's json.dumps does");
      }
    });
  }
});
