import type { AuditOptions } from "workspace-tasks/check-receiver";

export interface Detection {
  /** Exactly the checks that fail. */
  readonly detectedBy: readonly string[];
  /** Instead of all checks of the subjects in `detectedBy`. */
  readonly only?: readonly string[];
  readonly options?: Partial<AuditOptions>;
}

const by = (checks: string, rest: Omit<Detection, "detectedBy"> = {}): Detection => ({
  detectedBy: checks.split(" "),
  ...rest,
});
/** No other check is run. */
const alone = (checks: string, options: Detection["options"] = {}): Detection =>
  by(checks, { only: checks.split(" "), options });

/** The flaws that the reference receiver can have, one at a time, and the checks that detect them. */
export const flaws = {
  "accepts-anything": by("signature.forged", {
    only: (
      "signature timestamp.stale timestamp.future rotation.all-wrong transfer.reused-connection " +
      "duplicates.forged-first"
    ).split(" "),
  }),
  "tries-the-seconds-before": by("signature.other-headers"),
  "trusts-several-signatures": by("rotation.all-wrong"),
  "compares-a-prefix": by("signature.missing signature.almost-right signature.other-spelling"),
  "accepts-an-empty-key": by("signature.empty-key"),
  "trims-the-body": by("signature.altered-body signature.replacement-character signature.exact-bytes"),
  "hashes-the-parsed-body": by(
    "signature.altered-body signature.reserialised signature.replacement-character signature.exact-bytes " +
      "events.odd-json bodies.not-json responses.bad-input-is-4xx",
  ),
  "decodes-each-piece": by("signature.replacement-character transfer.in-pieces"),
  "accepts-any-version": by("signature.unknown-version"),
  "splits-at-commas": by("signature.other-spelling"),
  "has-no-past-limit": by("timestamp.stale"),
  "has-no-future-limit": by("timestamp.future timestamp.malformed"),
  "has-a-narrow-window": by("timestamp.within-tolerance"),
  "joins-repeated-headers": by("timestamp.malformed headers.id-missing headers.repeated"),
  "does-not-require-a-timestamp": by("timestamp.missing"),
  "accepts-one-signature-only": by("rotation.one-of-list rotation.old-secret"),
  "counts-signatures-without-limit": by("headers.many-signatures"),
  "is-case-sensitive-about-headers": by("headers.other-case"),
  "prefers-another-header-family": by("headers.other-family-bad headers.other-family-right"),
  "fails-on-odd-ids": by("headers.odd-id"),
  "fails-on-large-headers": by("headers.too-large"),
  "stores-no-ids": by(
    "duplicates.again duplicates.fresh-signature duplicates.concurrent duplicates.other-body",
  ),
  "selects-before-it-inserts": by("duplicates.concurrent"),
  "dedupes-by-body": by("duplicates.distinct duplicates.other-body"),
  "records-ids-before-verifying": by("duplicates.forged-first"),
  "records-ids-before-reading": by("transfer.aborted-then-retried"),
  "lets-the-last-event-win": by("order.older-after-newer order.microseconds order.offsets"),
  "orders-by-milliseconds": by("order.microseconds"),
  "orders-by-text": by("order.offsets"),
  "rejects-documents": by("events.catalog events.documents-other-list events.documents-bare-envelope"),
  "knows-six-events-only": by("events.unknown"),
  "requires-a-customer-error": by("events.error-in-grace"),
  "requires-documents": by("events.documents-other-list"),
  "requires-the-envelope": by("events.documents-bare-envelope"),
  "cannot-store-nul": by("events.odd-strings"),
  "fails-on-unreadable-bodies": by("bodies.not-json bodies.not-an-event"),
  "fails-on-impossible-times": by("bodies.impossible-times"),
  "calls-methods-of-the-event": by("events.prototype-keys"),
  "stops-on-an-unknown-event": alone("events.unknown baseline.still-responding"),
  "requires-exactly-application-json": by("content-type.charset content-type.other"),
  "requires-a-content-length": by("transfer.chunked"),
  "acknowledges-before-reading": alone("signature.forged transfer.truncated"),
  "verifies-as-it-reads": by("transfer.content-length-too-high"),
  "verifies-once-per-connection": by("transfer.reused-connection"),
  "parses-http-leniently": by("transfer.length-and-chunked"),
  "fails-on-compressed-bodies": by("transfer.gzip-bomb"),
  "inflates-bodies": by("transfer.gzip"),
  "reads-without-limit": by("limits.too-large"),
  "stalls-after-many-pieces": alone("limits.tiny-chunks baseline.still-responding", { timeoutMs: 1_000 }),
  "allows-10-kb": by("limits.ordinary-size limits.large-event"),
  "waits-forever-for-bodies": by("slow.stalled-body"),
  "has-a-short-body-timeout": by("slow.trickling-body"),
  "accepts-ten-connections-only": by("slow.others-do-not-block"),
  "accepts-any-method": by("methods.other"),
  "redirects-rejected-requests": by("responses.bad-input-is-4xx responses.no-redirect"),
  "never-responds-to-bad-input": alone(
    "signature.forged timestamp.stale methods.other responses.bad-input-is-4xx",
    { timeoutMs: 1_000 },
  ),
  "reveals-its-secret": by("responses.no-secret"),
  "reveals-the-expected-signature": by("responses.no-expected-signature"),
  "echoes-the-body": by("responses.no-body-echo"),
  "reveals-a-stack-trace": by("responses.no-stack-trace"),
  "responds-late": by("responses.in-time", { options: { responseTimeMsMax: 50 } }),
} satisfies Readonly<Record<string, Detection>>;

export type Flaw = keyof typeof flaws;
