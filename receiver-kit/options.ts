// How options are checked, and all defaults. Unknown names, wrong types and values out of range are rejected: a
// misspelled limit would otherwise be no limit.

import { version } from "@workspace-tasks/events/catalog";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { guardRandom, type Random, systemRandom } from "@workspace-tasks/kernel/random.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { versionMismatch } from "@workspace-tasks/kernel/version.ts";
import { ReceiverError, type ReceiverErrorCode, type WebhookRejectedError } from "./errors.ts";

export const defaults = {
  source: "default",
  toleranceSeconds: 300,
  limits: { bodyBytesMax: 1_048_576, bodyTimeoutMs: 10_000, receivingBytesMax: 33_554_432 },
  ingest: { acceptTimeoutMs: 10_000, storingBytesMax: 67_108_864, backlogMax: 100_000 },
  worker: {
    concurrency: 8,
    handlerTimeoutMs: 60_000,
    leaseMs: 30_000,
    pollMs: 1_000,
    keyOrder: "latest",
    eventsMax: 100,
  },
  retry: { firstDelayMs: 1_000, delayMsMax: 3_600_000, attemptsMax: 15 },
  retention: { bodiesDays: 7, unhandledBodiesDays: 30, idsDays: 14, headsDays: 35 },
  reconcile: { everyMs: 300_000, runningForMs: 900_000, retryScheduleMs: 28 * 3_600_000 },
  closeGraceMs: 10_000,
  orderWaitMs: 10_000,
  memory: { rowsMax: 100_000 },
  sqlite: { busyTimeoutMs: 5_000, transactionTimeoutMs: 1_000 },
  postgres: {
    schema: "workspace_tasks",
    queryTimeoutMs: 5_000,
  },
  rabbitmq: {
    name: "workspace-tasks",
    version: 1,
    shards: 1,
    partitions: 4,
    replicas: 3,
    heartbeatSeconds: 5,
    operationTimeoutMs: 10_000,
    prefetch: 256,
    backoff: { firstMs: 200, maxMs: 10_000 },
  },
} as const;

/** The name of a source or a tenant. */
export const nameOption = s.stringLike(/^[A-Za-z0-9._:-]{1,64}$/, "1 to 64 of A-Z a-z 0-9 . _ : -");
export const textOption = s.refineString("text that is not empty", (given) => given !== "", "none");
export const randomOption = s.transform(s.withDefault(s.functionOf<Random>(), systemRandom), guardRandom);

export interface RequestLimits {
  /** Largest request body; the response to a larger one is 413. Default 1,048,576. */
  readonly bodyBytesMax: number;
  /** Time in which the body must arrive; the response to a slower one is 408. Default 10,000. */
  readonly bodyTimeoutMs: number;
  /**
   * Bytes of all bodies that have not arrived whole; beyond it the response is 503 to the one that began first. Default
   * 33,554,432.
   */
  readonly receivingBytesMax: number;
}

/** Limits that are left out, or undefined, have their defaults. */
export type RequestLimitOptions = {
  readonly [Name in keyof RequestLimits]?: RequestLimits[Name] | undefined;
};

/** Options that several factories have. */
export const sharedOptions = {
  // Checked where they are turned into keys.
  secrets: s.anything,
  toleranceSeconds: s.withDefault(
    s.refineNumber("a positive number", (given) => Number.isFinite(given) && given > 0),
    defaults.toleranceSeconds,
  ),
  source: s.withDefault(nameOption, defaults.source),
  clock: s.withDefault(s.clock, systemClock),
  limits: s.withDefault(
    s.strictOptions<RequestLimits>()({
      bodyBytesMax: s.withDefault(s.positiveInteger, defaults.limits.bodyBytesMax),
      bodyTimeoutMs: s.withDefault(s.durationMs, defaults.limits.bodyTimeoutMs),
      receivingBytesMax: s.withDefault(s.positiveInteger, defaults.limits.receivingBytesMax),
    }),
    {},
  ),
  onRejected: s.optional(s.functionOf<(rejection: WebhookRejectedError) => void>()),
};

/**
 * Fills in the defaults.
 *
 * @throws {ReceiverError} `code` at the first wrong option, such as `createReceiver: leaseMs: expected …, got …`
 */
export function parseOptions<Value>(
  caller: string,
  schema: s.Schema<Value>,
  given: unknown,
  code: ReceiverErrorCode = "CONFIGURATION_INVALID",
): Value {
  return s.parse(
    schema,
    given,
    ({ messageWithValue }) => new ReceiverError(code, `${caller}: ${messageWithValue}`),
  );
}

/** @throws {ReceiverError} `VERSION_MISMATCH` */
export function requireEventsVersion(): void {
  const mismatch = versionMismatch("@workspace-tasks/receiver-kit", "@workspace-tasks/events", version);
  if (mismatch) throw new ReceiverError("VERSION_MISMATCH", mismatch);
}
