import { describe, expect, it } from "vitest";
import {
  type AuditOptions,
  type AuditReport,
  auditChecks,
  auditReceiver,
  renderTextReport,
  verdictOf,
} from "workspace-tasks/receiver-kit/audit";
import { type Flaw, flaws } from "../support/receivers/flaws.ts";
import { startReferenceReceiver } from "../support/receivers/reference-receiver.ts";

const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
const oldSecret = `whsec_${Buffer.alloc(32, 0x6b).toString("base64")}`;

/** Short limits: the receivers are on this machine. */
const quick = {
  observeSettleMs: 40,
  observeTimeoutMs: 400,
  timeoutMs: 5_000,
  stallTimeoutMs: 4_000,
} as const;

const failedIds = ({ results }: AuditReport) =>
  results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id);

const receivedBy = ({ results }: AuditReport, id: string) =>
  results.find((result) => result.id === id)?.received;

type Catch = {
  /** Exactly the checks that fail. */
  readonly caught: readonly string[];
  /** Instead of all checks of the subjects that are caught. */
  readonly only?: readonly string[];
  readonly options?: Partial<AuditOptions>;
};

const lenientNumbers = [
  "timestamp.trailing-letter",
  "timestamp.leading-space",
  "timestamp.plus-sign",
  "timestamp.leading-zeros",
  "timestamp.other-notation",
];
const unreadableBodies = ["bodies.empty", "bodies.not-json", "bodies.byte-order-mark", "bodies.nul-bytes"];
const otherTypes = ["content-type.other-json", "content-type.not-json", "content-type.absent"];

/** What the audit says about each flaw of the reference receiver. */
const catches: Readonly<Record<Flaw, Catch>> = {
  "accepts-anything": {
    only: [
      "signature",
      "timestamp.stale",
      "timestamp.future",
      "rotation.all-wrong",
      "transfer.pipelined",
      "duplicates.forged-first",
    ],
    caught: [
      "signature.forged",
      "signature.missing",
      "signature.empty",
      "signature.bit-flipped",
      "signature.truncated",
      "signature.empty-key",
      "signature.altered-byte",
      "signature.reserialised",
      "signature.replacement-character",
      "signature.byte-order-mark-added",
      "signature.newline-added",
      "signature.other-id",
      "signature.other-timestamp",
      "signature.unknown-version",
      "signature.other-spelling",
      "signature.trailing-junk",
      "timestamp.stale",
      "timestamp.future",
      "rotation.all-wrong",
      "duplicates.forged-first",
      "transfer.pipelined",
    ],
  },
  "accepts-unsigned": { caught: ["signature.missing"] },
  "compares-a-prefix": { caught: ["signature.empty", "signature.truncated", "signature.other-spelling"] },
  "accepts-an-empty-key": { caught: ["signature.empty-key"] },
  "hashes-decoded-text": { caught: ["signature.replacement-character"] },
  "drops-the-byte-order-mark": {
    caught: ["signature.replacement-character", "signature.byte-order-mark-added"],
  },
  "trims-the-body": {
    caught: [
      "signature.replacement-character",
      "signature.byte-order-mark-added",
      "signature.newline-added",
      "signature.exact-bytes",
    ],
  },
  "hashes-the-parsed-body": {
    caught: [
      "signature.reserialised",
      "signature.replacement-character",
      "signature.newline-added",
      "signature.exact-bytes",
      "events.deep-nesting",
      ...unreadableBodies,
      "answers.bad-input-is-4xx",
    ],
  },
  "reads-latin1": { caught: ["signature.non-ascii", "transfer.in-pieces"] },
  "decodes-each-piece": { caught: ["signature.replacement-character", "transfer.in-pieces"] },
  "takes-any-version": { caught: ["signature.unknown-version"] },
  "decodes-leniently": { caught: ["signature.other-spelling"] },
  "splits-at-commas": { caught: ["signature.trailing-junk"] },
  "forgets-the-past-limit": { caught: ["timestamp.stale"] },
  "forgets-the-future-limit": {
    caught: ["timestamp.future", "timestamp.milliseconds", "timestamp.too-long"],
  },
  "has-a-narrow-window": { caught: ["timestamp.within-tolerance"] },
  "parses-numbers-leniently": { caught: lenientNumbers },
  "skips-the-age-of-nonsense": {
    caught: ["timestamp.trailing-letter", "timestamp.iso", "timestamp.not-a-number"],
  },
  "joins-repeated-headers": {
    caught: [
      ...lenientNumbers,
      "headers.id-missing",
      "headers.id-repeated",
      "headers.timestamp-repeated",
      "headers.signature-repeated",
    ],
  },
  "does-without-a-timestamp": { caught: ["timestamp.missing"] },
  "takes-milliseconds": { caught: ["timestamp.milliseconds"] },
  "ignores-the-sign": { caught: ["timestamp.negative"] },
  "does-without-an-id": { caught: ["headers.id-missing"] },
  "reads-the-first-signature-only": {
    caught: ["rotation.second-of-list", "rotation.ten-wrong-then-right", "rotation.unknown-version-beside"],
  },
  "takes-a-single-signature-only": {
    caught: [
      "rotation.second-of-list",
      "rotation.first-of-list",
      "rotation.ten-wrong-then-right",
      "rotation.unknown-version-beside",
      "rotation.both-secrets",
    ],
  },
  "knows-the-new-secret-only": { caught: ["rotation.old-secret"] },
  "counts-signatures-without-limit": { caught: ["headers.seventeen-signatures", "headers.huge-signature"] },
  "is-fussy-about-header-case": { caught: ["headers.other-case"] },
  "prefers-another-header-family": { caught: ["headers.other-family-bad", "headers.other-family-right"] },
  "stumbles-over-odd-ids": { caught: ["headers.huge-id", "headers.odd-id"] },
  "stumbles-over-large-headers": { caught: ["headers.too-large"] },
  "forgets-ids": {
    caught: [
      "duplicates.again",
      "duplicates.fresh-signature",
      "duplicates.concurrent",
      "duplicates.other-body",
    ],
  },
  "looks-before-it-inserts": { caught: ["duplicates.concurrent"] },
  "dedupes-by-signature": { caught: ["duplicates.fresh-signature", "duplicates.other-body"] },
  "dedupes-by-body": {
    caught: ["duplicates.same-body", "duplicates.other-body"],
    options: { timeoutMs: 500 },
  },
  "folds-the-case-of-ids": { caught: ["duplicates.distinct-ids"] },
  "answers-409-to-duplicates": {
    caught: [
      "duplicates.again",
      "duplicates.fresh-signature",
      "duplicates.concurrent",
      "duplicates.other-body",
    ],
  },
  "records-ids-before-verifying": { caught: ["duplicates.forged-first"] },
  "records-ids-before-reading": { caught: ["transfer.aborted-then-retried"] },
  "lets-the-last-event-win": {
    caught: ["order.older-after-newer", "order.microseconds", "order.offsets"],
  },
  "orders-by-milliseconds": { caught: ["order.microseconds"] },
  "orders-by-text": { caught: ["order.offsets"] },
  "refuses-documents": {
    caught: ["events.catalog", "events.documents-other-list", "events.documents-bare-envelope"],
  },
  "knows-six-events-only": { caught: ["events.unknown-name"] },
  "forbids-unknown-fields": { caught: ["events.unknown-fields"] },
  "knows-three-stages-only": { caught: ["events.unknown-stage"] },
  "knows-five-task-types-only": { caught: ["events.unknown-task-type"] },
  "demands-a-customer-error": { caught: ["events.error-in-grace"] },
  "demands-documents": { caught: ["events.documents-other-list"] },
  "demands-the-envelope": { caught: ["events.documents-bare-envelope"] },
  "cannot-store-nul": { caught: ["events.nul"] },
  "cannot-store-lone-surrogates": { caught: ["events.lone-surrogate"] },
  "fails-on-unreadable-bodies": {
    caught: [
      "bodies.empty",
      "bodies.not-json",
      "bodies.not-an-object",
      "bodies.byte-order-mark",
      "bodies.nul-bytes",
    ],
  },
  "fails-on-bytes-that-are-not-utf8": { caught: ["bodies.not-utf8"] },
  "fails-on-missing-fields": { caught: ["bodies.missing-fields"] },
  "fails-on-impossible-times": { caught: ["bodies.impossible-times"] },
  "fails-on-repeated-keys": { caught: ["events.repeated-keys"] },
  "calls-methods-of-the-event": { caught: ["events.prototype-keys"] },
  "dies-of-an-unknown-event": {
    only: ["events.unknown-name", "baseline.still-answering"],
    caught: ["events.unknown-name", "baseline.still-answering"],
  },
  "wants-application-json": { caught: otherTypes },
  "wants-exactly-application-json": {
    caught: ["content-type.json-with-charset", "content-type.other-case", ...otherTypes],
  },
  "wants-a-content-length": { caught: ["transfer.chunked"] },
  "acknowledges-before-reading": {
    only: ["signature.altered-byte", "transfer.truncated"],
    caught: ["signature.altered-byte", "transfer.truncated"],
  },
  "verifies-as-it-reads": { caught: ["transfer.content-length-too-high"] },
  "trusts-the-connection": { caught: ["transfer.pipelined", "transfer.keep-alive"] },
  "parses-http-leniently": { caught: ["transfer.length-and-chunked"] },
  "chokes-on-compressed-bodies": { caught: ["transfer.gzip-bomb"] },
  "inflates-bodies": { caught: ["transfer.gzip"] },
  "reads-without-limit": {
    caught: ["limits.announced-too-large", "limits.streamed-too-large"],
    options: { timeoutMs: 2_000 },
  },
  "allows-10-kb": { caught: ["limits.ordinary-size", "limits.large-event"] },
  "allows-100-kb": { caught: ["limits.large-event"] },
  "waits-forever-for-bodies": { caught: ["slow.stalled-body"] },
  "is-impatient": { caught: ["slow.trickling-body"] },
  "takes-one-connection-at-a-time": {
    only: ["slow.bodies-do-not-block"],
    caught: ["slow.bodies-do-not-block"],
    options: { timeoutMs: 1_000 },
  },
  "takes-ten-connections-only": {
    caught: ["slow.headers-do-not-block", "slow.bodies-do-not-block"],
  },
  "takes-any-method": { caught: ["methods.put"] },
  "answers-get-with-200": { caught: ["methods.get"] },
  "redirects-what-it-refuses": { caught: ["answers.bad-input-is-4xx", "answers.no-redirect"] },
  "answers-500-to-bad-input": { caught: ["answers.bad-input-is-4xx"] },
  "stays-silent-on-bad-input": {
    only: ["signature.forged", "timestamp.stale", "methods.get", "answers.bad-input-is-4xx"],
    caught: ["signature.forged", "timestamp.stale", "methods.get", "answers.bad-input-is-4xx"],
    options: { timeoutMs: 1_000 },
  },
  "tells-its-secret": { caught: ["answers.no-secret"] },
  "tells-the-expected-signature": { caught: ["answers.no-expected-signature"] },
  "echoes-the-body": { caught: ["answers.no-body-echo"] },
  "shows-a-stack-trace": { caught: ["answers.no-stack-trace"] },
  "answers-late": { caught: ["answers.in-time"], options: { answerTimeMsMax: 50 } },
};

/** The subjects of the checks that a flaw is caught by: all of their checks are run, no others. */
const subjectsOf = (ids: readonly string[]) => [...new Set(ids.map((id) => id.replace(/\..*/, "")))];

describe.concurrent("check-receiver and a careful receiver", () => {
  it("finds nothing to object to, with effects observed for each delivery", async () => {
    await using receiver = await startReferenceReceiver({
      secrets: [secret, oldSecret],
      bodyTimeoutMs: 2_000,
    });
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, oldSecret, observeUrl, ...quick });
    expect(report.problem).toBeUndefined();
    expect(report.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(report.results.map(({ id }) => id)).toEqual(auditChecks.map(({ id }) => id));
    expect(verdictOf(report)).toBe("passed");
  });

  it("finds nothing to object to when only the total of effects is told", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], totalOnly: true });
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, only: ["duplicates", "order"], ...quick });
    expect(report.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(receivedBy(report, "duplicates.concurrent")).toBe("200; 1 effect");
  });

  it("says that it saw the answers only when it may not observe effects", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], flaw: "forgets-ids" });
    const report = await auditReceiver({ url: receiver.url, secret, only: ["duplicates.again"], ...quick });
    expect(report.observed).toBe(false);
    expect(report.results).toMatchObject([{ outcome: "passed" }]);
    expect(report.results).toMatchObject([{ received: "200 (answers only)", answersOnly: true }]);
    expect(renderTextReport(report)).toContain("1 of the passed saw the answers only: --observe-url");
  });

  it("skips the checks about an old secret when none is given, and still passes", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const report = await auditReceiver({ url: receiver.url, secret, only: ["rotation"], ...quick });
    const skipped = report.results.filter(({ outcome }) => outcome === "skipped").map(({ id }) => id);
    expect(skipped).toEqual(["rotation.old-secret", "rotation.both-secrets"]);
    expect(verdictOf(report)).toBe("passed");
  });
});

describe.concurrent("check-receiver bites", () => {
  it.each(flaws.map((flaw) => [flaw]))("when a receiver %s", async (flaw) => {
    const { caught, only, options } = catches[flaw];
    const subjects = only ?? subjectsOf(caught);
    await using receiver = await startReferenceReceiver({
      secrets: [secret, oldSecret],
      flaw,
      // Short only where the audit waits for it: on a busy machine pieces of a body are late, too.
      bodyTimeoutMs: subjects.includes("slow") ? 2_000 : 10_000,
    });
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({
      url,
      secret,
      oldSecret,
      observeUrl,
      ...quick,
      only: subjects,
      ...options,
    });
    expect(report.problem).toBeUndefined();
    expect(failedIds(report)).toEqual(caught);
  });

  it("with every one of its checks", () => {
    const caught = new Set(Object.values(catches).flatMap((each) => each.caught));
    const neverCaught = auditChecks.map(({ id }) => id).filter((id) => !caught.has(id));
    // A receiver that fails this one is not audited at all; the tests of diagnoses show that.
    expect(neverCaught).toEqual(["baseline.valid-delivery"]);
  });
});
