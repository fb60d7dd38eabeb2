import type { AuditOptions } from "workspace-tasks/check-receiver";

export interface Detection {
  /** Exactly the checks that fail. */
  readonly detectedBy: readonly string[];
  /** Instead of all checks of the subjects in `detectedBy`. */
  readonly only?: readonly string[];
  readonly options?: Partial<AuditOptions>;
}

/** The flaws that the reference receiver can have, one at a time, and the checks that detect them. */
export const flaws = {
  "accepts-anything": {
    only: [
      "signature",
      "timestamp.stale",
      "timestamp.future",
      "rotation.all-wrong",
      "transfer.reused-connection",
      "duplicates.forged-first",
    ],
    detectedBy: [
      "signature.forged",
      "signature.missing",
      "signature.almost-right",
      "signature.empty-key",
      "signature.altered-body",
      "signature.reserialised",
      "signature.replacement-character",
      "signature.other-headers",
      "signature.unknown-version",
      "signature.other-spelling",
      "timestamp.stale",
      "timestamp.future",
      "rotation.all-wrong",
      "duplicates.forged-first",
      "transfer.reused-connection",
    ],
  },
  "accepts-unsigned": { detectedBy: ["signature.missing"] },
  "compares-a-prefix": {
    detectedBy: ["signature.missing", "signature.almost-right", "signature.other-spelling"],
  },
  "accepts-an-empty-key": { detectedBy: ["signature.empty-key"] },
  "hashes-decoded-text": { detectedBy: ["signature.replacement-character"] },
  "drops-the-byte-order-mark": {
    detectedBy: ["signature.altered-body", "signature.replacement-character"],
  },
  "trims-the-body": {
    detectedBy: ["signature.altered-body", "signature.replacement-character", "signature.exact-bytes"],
  },
  "hashes-the-parsed-body": {
    detectedBy: [
      "signature.altered-body",
      "signature.reserialised",
      "signature.replacement-character",
      "signature.exact-bytes",
      "events.odd-json",
      "bodies.not-json",
      "responses.bad-input-is-4xx",
    ],
  },
  "reads-latin1": { detectedBy: ["signature.exact-bytes", "transfer.in-pieces"] },
  "decodes-each-piece": { detectedBy: ["signature.replacement-character", "transfer.in-pieces"] },
  "accepts-any-version": { detectedBy: ["signature.unknown-version"] },
  "decodes-leniently": { detectedBy: ["signature.other-spelling"] },
  "splits-at-commas": { detectedBy: ["signature.other-spelling"] },
  "has-no-past-limit": { detectedBy: ["timestamp.stale"] },
  "has-no-future-limit": { detectedBy: ["timestamp.future", "timestamp.malformed"] },
  "has-a-narrow-window": { detectedBy: ["timestamp.within-tolerance"] },
  "parses-numbers-leniently": { detectedBy: ["timestamp.malformed"] },
  "skips-the-age-of-non-numbers": { detectedBy: ["timestamp.malformed"] },
  "joins-repeated-headers": {
    detectedBy: ["timestamp.malformed", "headers.id-missing", "headers.repeated"],
  },
  "does-not-require-a-timestamp": { detectedBy: ["timestamp.missing"] },
  "accepts-milliseconds": { detectedBy: ["timestamp.malformed"] },
  "ignores-the-sign": { detectedBy: ["timestamp.malformed"] },
  "does-not-require-an-id": { detectedBy: ["headers.id-missing"] },
  "reads-the-first-signature-only": { detectedBy: ["rotation.one-of-list"] },
  "accepts-one-signature-only": { detectedBy: ["rotation.one-of-list", "rotation.old-secret"] },
  "has-the-new-secret-only": { detectedBy: ["rotation.old-secret"] },
  "counts-signatures-without-limit": {
    detectedBy: ["headers.many-signatures"],
  },
  "is-case-sensitive-about-headers": { detectedBy: ["headers.other-case"] },
  "prefers-another-header-family": { detectedBy: ["headers.other-family-bad", "headers.other-family-right"] },
  "fails-on-odd-ids": { detectedBy: ["headers.odd-id"] },
  "fails-on-large-headers": { detectedBy: ["headers.too-large"] },
  "stores-no-ids": {
    detectedBy: [
      "duplicates.again",
      "duplicates.fresh-signature",
      "duplicates.concurrent",
      "duplicates.other-body",
    ],
  },
  "selects-before-it-inserts": { detectedBy: ["duplicates.concurrent"] },
  "dedupes-by-signature": { detectedBy: ["duplicates.fresh-signature", "duplicates.other-body"] },
  "dedupes-by-body": {
    detectedBy: ["duplicates.distinct", "duplicates.other-body"],
  },
  "folds-the-case-of-ids": { detectedBy: ["duplicates.distinct"] },
  "responds-409-to-duplicates": {
    detectedBy: [
      "duplicates.again",
      "duplicates.fresh-signature",
      "duplicates.concurrent",
      "duplicates.other-body",
    ],
  },
  "records-ids-before-verifying": { detectedBy: ["duplicates.forged-first"] },
  "records-ids-before-reading": { detectedBy: ["transfer.aborted-then-retried"] },
  "lets-the-last-event-win": {
    detectedBy: ["order.older-after-newer", "order.microseconds", "order.offsets"],
  },
  "orders-by-milliseconds": { detectedBy: ["order.microseconds"] },
  "orders-by-text": { detectedBy: ["order.offsets"] },
  "rejects-documents": {
    detectedBy: ["events.catalog", "events.documents-other-list", "events.documents-bare-envelope"],
  },
  "knows-six-events-only": { detectedBy: ["events.unknown"] },
  "forbids-unknown-fields": { detectedBy: ["events.unknown"] },
  "knows-three-stages-only": { detectedBy: ["events.unknown"] },
  "knows-five-task-types-only": { detectedBy: ["events.unknown"] },
  "requires-a-customer-error": { detectedBy: ["events.error-in-grace"] },
  "requires-documents": { detectedBy: ["events.documents-other-list"] },
  "requires-the-envelope": { detectedBy: ["events.documents-bare-envelope"] },
  "cannot-store-nul": { detectedBy: ["events.odd-strings"] },
  "cannot-store-lone-surrogates": { detectedBy: ["events.odd-strings"] },
  "fails-on-unreadable-bodies": { detectedBy: ["bodies.not-json", "bodies.not-an-event"] },
  "fails-on-bytes-that-are-not-utf8": { detectedBy: ["bodies.not-json"] },
  "fails-on-missing-fields": { detectedBy: ["bodies.not-an-event"] },
  "fails-on-impossible-times": { detectedBy: ["bodies.impossible-times"] },
  "fails-on-repeated-keys": { detectedBy: ["events.odd-json"] },
  "calls-methods-of-the-event": { detectedBy: ["events.prototype-keys"] },
  "stops-on-an-unknown-event": {
    only: ["events.unknown", "baseline.still-responding"],
    detectedBy: ["events.unknown", "baseline.still-responding"],
  },
  "requires-application-json": { detectedBy: ["content-type.other"] },
  "requires-exactly-application-json": {
    detectedBy: ["content-type.charset", "content-type.other"],
  },
  "requires-a-content-length": { detectedBy: ["transfer.chunked"] },
  "acknowledges-before-reading": {
    only: ["signature.altered-body", "transfer.truncated"],
    detectedBy: ["signature.altered-body", "transfer.truncated"],
  },
  "verifies-as-it-reads": { detectedBy: ["transfer.content-length-too-high"] },
  "verifies-once-per-connection": { detectedBy: ["transfer.reused-connection"] },
  "parses-http-leniently": { detectedBy: ["transfer.length-and-chunked"] },
  "fails-on-compressed-bodies": { detectedBy: ["transfer.gzip-bomb"] },
  "inflates-bodies": { detectedBy: ["transfer.gzip"] },
  "reads-without-limit": {
    detectedBy: ["limits.too-large"],
  },
  "allows-10-kb": { detectedBy: ["limits.ordinary-size", "limits.large-event"] },
  "allows-100-kb": { detectedBy: ["limits.large-event"] },
  "waits-forever-for-bodies": { detectedBy: ["slow.stalled-body"] },
  "has-a-short-body-timeout": { detectedBy: ["slow.trickling-body"] },
  "serves-one-connection-at-a-time": {
    only: ["slow.others-do-not-block"],
    detectedBy: ["slow.others-do-not-block"],
    options: { timeoutMs: 1_000 },
  },
  "accepts-ten-connections-only": {
    detectedBy: ["slow.others-do-not-block"],
  },
  "accepts-any-method": { detectedBy: ["methods.other"] },
  "responds-200-to-get": { detectedBy: ["methods.other"] },
  "redirects-rejected-requests": { detectedBy: ["responses.bad-input-is-4xx", "responses.no-redirect"] },
  "responds-500-to-bad-input": { detectedBy: ["responses.bad-input-is-4xx"] },
  "never-responds-to-bad-input": {
    only: ["signature.forged", "timestamp.stale", "methods.other", "responses.bad-input-is-4xx"],
    detectedBy: ["signature.forged", "timestamp.stale", "methods.other", "responses.bad-input-is-4xx"],
    options: { timeoutMs: 1_000 },
  },
  "reveals-its-secret": { detectedBy: ["responses.no-secret"] },
  "reveals-the-expected-signature": { detectedBy: ["responses.no-expected-signature"] },
  "echoes-the-body": { detectedBy: ["responses.no-body-echo"] },
  "reveals-a-stack-trace": { detectedBy: ["responses.no-stack-trace"] },
  "responds-late": { detectedBy: ["responses.in-time"], options: { responseTimeMsMax: 50 } },
} satisfies Readonly<Record<string, Detection>>;

export type Flaw = keyof typeof flaws;
