import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { type AuditReport, auditChecks, auditReceiver, exitCodeOf } from "workspace-tasks/receiver-kit/audit";
import { audit } from "../../receiver-kit/audit/audit-receiver.ts";
import { listen } from "../support/listen.ts";
import { appliesToGithub, githubSigning } from "../support/receivers/github-signing.ts";
import { startKitReceiver } from "../support/receivers/kit-receiver.ts";
import { findPython, serveInProcess, startPythonReceiver } from "../support/receivers/served-receiver.ts";
import { itWithPython } from "../support/with-python.ts";

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
  "responses.no-stack-trace",
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

/** The examples store no ids. */
const noStore = [
  "duplicates.again",
  "duplicates.fresh-signature",
  "duplicates.concurrent",
  "duplicates.other-body",
];

// Whole runs against processes that wait for several time limits: quick on an idle machine, not on a busy one.
const patient = { timeout: 120_000 };

describe.concurrent("check-receiver against receivers of other libraries", patient, () => {
  it("check-receiver finds the known failures of Express with standardwebhooks", async () => {
    await using receiver = await serveInProcess("express-standardwebhooks", secret);
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, ...quick });
    expect(failedIds(report)).toEqual([
      ...library.body,
      ...library.timestamp,
      ...library.headers,
      ...noStore,
      ...expressRaw,
    ]);
    expect(exitCodeOf(report)).toBe(1);
  });

  it("check-receiver finds the known failures of Express with svix, which also reads svix-… headers", async () => {
    await using receiver = await serveInProcess("express-svix", secret);
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, ...quick });
    expect(failedIds(report)).toEqual([
      ...library.body,
      ...library.timestamp,
      ...library.headers,
      "headers.other-family-bad",
      "headers.other-family-right",
      ...noStore,
      ...expressRaw,
    ]);
  });

  it("check-receiver finds that octokit's middleware hashes text, stores no id and limits no body", async () => {
    await using receiver = await serveInProcess("octokit", secret);
    const { url, observeUrl } = receiver;
    const subjects = /^(signature|duplicates|content-type|transfer|slow|limits|methods)\./;
    const only = auditChecks
      .filter(appliesToGithub)
      .map(({ id }) => id)
      .filter((id) => subjects.test(id));
    const report = await audit({ url, secret, observeUrl, only, ...quick }, githubSigning);
    expect(failedIds(report)).toEqual([
      "signature.replacement-character",
      "signature.byte-order-mark-added",
      ...noStore,
      "content-type.other-case",
      "content-type.other-json",
      "content-type.not-json",
      "content-type.absent",
      "slow.stalled-body",
      "limits.announced-too-large",
      "limits.streamed-too-large",
    ]);
  });

  it("check-receiver reports UNREACHABLE after a signed body ended octokit's process", async () => {
    await using receiver = await serveInProcess("octokit", secret);
    const options = { url: receiver.url, secret, only: ["bodies.not-an-object"], ...quick };
    await audit(options, githubSigning);
    await receiver.ended;
    const after = await audit(options, githubSigning);
    expect(after.problem).toMatchObject({ code: "UNREACHABLE" });
    expect(exitCodeOf(after)).toBe(2);
  });

  it("check-receiver names the check during which a receiver stopped accepting connections", async () => {
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
      only: ["bodies.not-an-object", "baseline.still-responding"],
      ...quick,
    });
    expect(report.stoppedDuring).toEqual(["bodies.not-an-object"]);
    expect(report.results.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["bodies.not-an-object", "failed"],
      ["baseline.still-responding", "failed"],
    ]);
    expect(exitCodeOf(report)).toBe(1);
  });

  it("check-receiver detects a 2xx without an effect, as octokit returns behind a JSON parser", async () => {
    await using receiver = await serveInProcess("octokit-behind-json-parser", secret);
    const { url, observeUrl } = receiver;
    const observed = await audit({ url, secret, observeUrl, ...quick }, githubSigning);
    expect(observed.problem).toMatchObject({ code: "OBSERVE_URL" });
    expect(exitCodeOf(observed)).toBe(2);
    // Without the observe URL, the 2xx responses to forgeries still reveal it.
    const only = ["signature.forged", "signature.altered-byte"];
    const unobserved = await audit({ url, secret, only, ...quick }, githubSigning);
    expect(failedIds(unobserved)).toEqual(only);
  });

  itWithPython("check-receiver passes a receiver in Python", async () => {
    await using receiver = await startPythonReceiver(secret, 2);
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, ...quick });
    expect(failedIds(report)).toEqual([]);
    expect(exitCodeOf(report)).toBe(0);
  });

  it("findPython returns the reason when the command is missing", () => {
    expect(findPython("python3-that-does-not-exist")).toEqual({
      missing: "python3-that-does-not-exist cannot be started",
    });
  });
});

describe("check-receiver against the receiver of this kit", patient, () => {
  it("check-receiver passes the receiver of this kit with no failed or skipped check", async () => {
    await using receiver = await startKitReceiver([secret, oldSecret], { bodyTimeoutMs: 2_000 });
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, oldSecret, observeUrl, ...quick });
    expect(report.problem).toBeUndefined();
    expect(report.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(report.observed).toBe(true);
  });
});
