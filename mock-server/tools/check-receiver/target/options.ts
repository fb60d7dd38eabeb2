import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { defaults, parseOptions, parseSecret } from "@workspace-tasks/receiver-kit/parts";

export interface AuditOptions {
  /** Where the receiver takes deliveries; http or https. */
  readonly url: string;
  /** The signing secret of the endpoint. Never printed, stored or put into a report. */
  readonly secret: string;
  /** A secret that is still in its grace period; without it its checks are skipped. */
  readonly oldSecret?: string | undefined;
  /** Ids or subjects of checks; all when absent or empty. */
  readonly only?: readonly string[] | undefined;
  /** The receiver's tolerance for timestamps. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /**
   * A URL of the receiver that returns what it did: `?id=<webhook-id>` returns `{ "count": n }`, how often the
   * delivery took effect, and `?taskId=<id>` may return `{ "status": "…" }`. Without it duplicates are judged by
   * responses only.
   */
  readonly observeUrl?: string | undefined;
  /** How long an effect may take to show after the acknowledgement. Default 10,000. */
  readonly observeTimeoutMs?: number | undefined;
  /** How long to wait for further effects of a delivery. Default 300. */
  readonly observeSettleMs?: number | undefined;
  /** Time limit for one response; for one of the observe URL at least 10,000. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Time within which the receiver must give up on a stalled body. Default 20,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** Slowest acknowledgement that is not reported. Default 3,000. */
  readonly responseTimeMsMax?: number | undefined;
  /** Time limit for the whole run; checks that it stops are `unfinished`. Default 180,000. */
  readonly runTimeoutMs?: number | undefined;
  /** Checks that run at the same time. Default 4. */
  readonly concurrency?: number | undefined;
  /** Stops the run early; stopped checks are `unfinished`. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: AuditProgress) => void) | undefined;
  readonly clock?: Clock | undefined;
}

export interface AuditProgress {
  readonly done: number;
  readonly total: number;
  readonly id: string;
}

export const auditDefaults = {
  toleranceSeconds: defaults.toleranceSeconds,
  observeTimeoutMs: 10_000,
  observeSettleMs: 300,
  timeoutMs: 10_000,
  stallTimeoutMs: 20_000,
  responseTimeMsMax: 3_000,
  runTimeoutMs: 180_000,
  concurrency: 4,
} as const;

const httpUrl = s.refine<string>(
  "an http or https URL",
  (given) => typeof given === "string" && URL.canParse(given) && /^https?:/i.test(given),
);

const schema = s.strictOptions<AuditOptions>()({
  url: httpUrl,
  secret: s.string,
  oldSecret: s.optional(s.string),
  only: s.withDefault(s.array(s.string), []),
  toleranceSeconds: s.withDefault(s.positiveInteger, auditDefaults.toleranceSeconds),
  observeUrl: s.optional(httpUrl),
  observeTimeoutMs: s.withDefault(s.durationMs, auditDefaults.observeTimeoutMs),
  observeSettleMs: s.withDefault(s.durationMs, auditDefaults.observeSettleMs),
  timeoutMs: s.withDefault(s.durationMs, auditDefaults.timeoutMs),
  stallTimeoutMs: s.withDefault(s.durationMs, auditDefaults.stallTimeoutMs),
  responseTimeMsMax: s.withDefault(s.durationMs, auditDefaults.responseTimeMsMax),
  runTimeoutMs: s.withDefault(s.durationMs, auditDefaults.runTimeoutMs),
  concurrency: s.withDefault(s.positiveInteger, auditDefaults.concurrency),
  signal: s.optional(s.abortSignal),
  onProgress: s.optional(s.functionOf<(progress: AuditProgress) => void>()),
  clock: s.withDefault(s.clock, systemClock),
});

export type ResolvedAuditOptions = ReturnType<typeof resolveAuditOptions>;

/** @throws {ReceiverError} `CONFIGURATION_INVALID`, or `SECRET_INVALID` */
export function resolveAuditOptions(given: AuditOptions) {
  const options = parseOptions("auditReceiver", schema, given);
  parseSecret(options.secret, "auditReceiver: secret");
  if (options.oldSecret !== undefined) parseSecret(options.oldSecret, "auditReceiver: oldSecret");
  return options;
}
