import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { type AuditReport, auditReceiver, exitCodeOf } from "workspace-tasks/receiver-kit/audit";
import { listen } from "../support/listen.ts";
import { itWithPython } from "../support/machine.ts";
import { startKitReceiver } from "../support/receivers/kit-receiver.ts";
import { findPython, serveInProcess, startPythonReceiver } from "../support/receivers/served-receiver.ts";

const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
const oldSecret = `whsec_${Buffer.alloc(32, 0x6b).toString("base64")}`;
const quick = {
  observeSettleMs: 40,
  observeTimeoutMs: 3_000,
  timeoutMs: 3_000,
  stallTimeoutMs: 4_000,
} as const;

const failedIds = ({ results }: AuditReport) =>
  results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id);

/** What follows from `express.raw({ type: "application/json" })` and Express's own error page. */
const expressRaw = [
  "content-type.other-json",
  "content-type.not-json",
  "content-type.absent",
  "transfer.gzip",
  "slow.stalled-body",
  "limits.large-event",
  "limits.announced-too-large",
  "limits.streamed-too-large",
  "answers.no-stack-trace",
];

/** What follows from how the public library reads headers and bodies. */
const library = {
  body: ["signature.replacement-character", "signature.trailing-junk"],
  timestamp: [
    "timestamp.trailing-letter",
    "timestamp.leading-space",
    "timestamp.plus-sign",
    "timestamp.leading-zeros",
    "timestamp.other-notation",
  ],
  headers: [
    "headers.id-repeated",
    "headers.timestamp-repeated",
    "headers.signature-repeated",
    "headers.seventeen-signatures",
    "headers.huge-signature",
  ],
};

/** Nothing in the examples remembers an id. */
const noMemory = [
  "duplicates.again",
  "duplicates.fresh-signature",
  "duplicates.concurrent",
  "duplicates.other-body",
];

// Whole audits of processes that wait out several time limits: quick on an idle machine, not on a busy one.
const patient = { timeout: 120_000 };

describe.concurrent("check-receiver and receivers written as other documentation suggests", patient, () => {
  it("finds what is known of Express with standardwebhooks", async () => {
    await using receiver = await serveInProcess("express-standardwebhooks", secret);
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, ...quick });
    expect(failedIds(report)).toEqual([
      ...library.body,
      ...library.timestamp,
      ...library.headers,
      ...noMemory,
      ...expressRaw,
    ]);
    expect(exitCodeOf(report)).toBe(1);
  });

  it("finds what is known of Express with svix, which also follows another header family", async () => {
    await using receiver = await serveInProcess("express-svix", secret);
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, ...quick });
    expect(failedIds(report)).toEqual([
      ...library.body,
      ...library.timestamp,
      ...library.headers,
      "headers.other-family-bad",
      "headers.other-family-right",
      ...noMemory,
      ...expressRaw,
    ]);
  });

  it("finds that octokit's middleware hashes text, remembers no id and limits no body", async () => {
    await using receiver = await serveInProcess("octokit", secret);
    const { url, observeUrl } = receiver;
    const only = [
      "signature",
      "timestamp",
      "duplicates",
      "content-type",
      "transfer",
      "slow",
      "limits",
      "methods",
    ];
    const report = await auditReceiver({ url, secret, scheme: "github", observeUrl, only, ...quick });
    expect(failedIds(report)).toEqual([
      "signature.replacement-character",
      "signature.byte-order-mark-added",
      ...noMemory,
      "content-type.other-case",
      "content-type.other-json",
      "content-type.not-json",
      "content-type.absent",
      "slow.stalled-body",
      "limits.announced-too-large",
      "limits.streamed-too-large",
    ]);
    const skipped = report.results.filter(({ outcome }) => outcome === "skipped").map(({ id }) => id);
    expect(skipped).toContain("timestamp.stale");
  });

  it("shows that a signed body ends octokit's process", async () => {
    await using receiver = await serveInProcess("octokit", secret);
    const target = { url: receiver.url, secret, scheme: "github", ...quick } as const;
    await auditReceiver({ ...target, only: ["bodies.not-an-object"] });
    await receiver.ended;
    const after = await auditReceiver({ ...target, only: ["bodies.not-an-object"] });
    expect(after.problem).toMatchObject({ code: "UNREACHABLE" });
    expect(exitCodeOf(after)).toBe(2);
  });

  it("tells during which check a receiver stopped accepting connections", async () => {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        if (body.startsWith("{")) return response.end();
        server.close();
        return server.closeAllConnections();
      });
    });
    const { origin } = await listen(server);
    const report = await auditReceiver({
      url: `${origin}/`,
      secret,
      only: ["bodies.not-an-object", "baseline.still-answering"],
      ...quick,
    });
    expect(report.stoppedDuring).toEqual(["bodies.not-an-object"]);
    expect(report.results.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["bodies.not-an-object", "failed"],
      ["baseline.still-answering", "failed"],
    ]);
    expect(exitCodeOf(report)).toBe(1);
  });

  it("tells a success answer without an effect, as octokit gives behind a JSON parser, from a success", async () => {
    await using receiver = await serveInProcess("octokit-behind-json-parser", secret);
    const { url, observeUrl } = receiver;
    const observed = await auditReceiver({ url, secret, scheme: "github", observeUrl, ...quick });
    expect(observed.problem).toMatchObject({ code: "OBSERVE_URL" });
    expect(exitCodeOf(observed)).toBe(2);
    // Without a view of the effects, the success answers to forgeries still give it away.
    const only = ["signature.forged", "signature.altered-byte"];
    const unobserved = await auditReceiver({ url, secret, scheme: "github", only, ...quick });
    expect(failedIds(unobserved)).toEqual(only);
  });

  itWithPython("audits a receiver in Python", async () => {
    await using receiver = await startPythonReceiver(secret, 2);
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, ...quick });
    expect(failedIds(report)).toEqual([]);
    expect(exitCodeOf(report)).toBe(0);
  });

  it("says what is missing when a command is not there", () => {
    expect(findPython("python3-that-does-not-exist")).toEqual({
      missing: "python3-that-does-not-exist cannot be started",
    });
  });
});

describe("check-receiver and the receiver of this kit", patient, () => {
  it("finds nothing to object to", async () => {
    await using receiver = await startKitReceiver([secret, oldSecret], { bodyTimeoutMs: 2_000 });
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, oldSecret, observeUrl, ...quick });
    expect(report.problem).toBeUndefined();
    expect(report.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(report.observed).toBe(true);
  });
});
