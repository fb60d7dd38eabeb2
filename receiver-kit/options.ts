// How options are checked, and all defaults. Unknown names, wrong types and values out of range are rejected: a
// misspelled limit would otherwise be no limit.

import { z } from "zod";
import { type Clock, systemClock } from "../sdk/kernel/clock.ts";
import { didYouMean } from "../sdk/kernel/did-you-mean.ts";
import { guardRandom, type Random, systemRandom } from "../sdk/kernel/random.ts";
import { ReceiverError, type ReceiverErrorCode, type WebhookRejectedError } from "./errors.ts";

export const defaults = {
  source: "default",
  toleranceSeconds: 300,
  limits: { bodyBytesMax: 1_048_576, bodyTimeoutMs: 10_000 },
  ingest: { acceptTimeoutMs: 10_000, storingBytesMax: 67_108_864, backlogMax: 100_000 },
  worker: { concurrency: 8, handlerTimeoutMs: 60_000, leaseMs: 30_000, pollMs: 1_000, keyOrder: "latest" },
  retry: { firstDelayMs: 1_000, delayMsMax: 3_600_000, attemptsMax: 15 },
  retention: { bodiesDays: 7, unhandledBodiesDays: 30, idsDays: 14, headsDays: 365 },
  reconcile: { runningForMs: 900_000, retryScheduleMs: 28 * 3_600_000 },
  closeGraceMs: 10_000,
  orderWaitMs: 10_000,
  memory: { rowsMax: 100_000 },
  sqlite: { busyTimeoutMs: 5_000, transactionTimeoutMs: 1_000, eventsPerTransactionMax: 128 },
  postgres: {
    schema: "workspace_tasks",
    queryTimeoutMs: 5_000,
    eventsPerTransactionMax: 128,
    turnMs: 100,
  },
  rabbitmq: {
    ...{ name: "workspace-tasks", version: 1, shards: 1, partitions: 4, replicas: 3 },
    ...{ heartbeatSeconds: 5, operationTimeoutMs: 10_000 },
    prefetch: 256,
    backoff: { firstMs: 200, maxMs: 10_000 },
  },
} as const;

// setTimeout fires at once for a delay that does not fit in 31 bits.
const durationMsMax = 2 ** 31 - 1;

/** A value of one kind; `expected` completes the message "expected …, got …". */
const value = <Type>(expected: string, accepts: (given: unknown) => boolean) =>
  z.custom<Type>(accepts, expected);

/** An object with these methods, whatever else it has. */
const objectWith = <Type>(expected: string, ...methods: readonly (keyof Type & string)[]) =>
  value<Type>(expected, (given) =>
    methods.every((method) => typeof (given as Record<string, unknown> | null)?.[method] === "function"),
  );

/** The kinds of options. */
export const option = {
  value,
  objectWith,
  positiveInteger: value<number>("a positive whole number", (given) => isIntegerFrom(1, given)),
  durationMs: value<number>(
    `a whole number of milliseconds from 1 to ${durationMsMax}`,
    (given) => isIntegerFrom(1, given) && given <= durationMsMax,
  ),
  numberFrom: (min: number) =>
    value<number>(`a number of at least ${min}`, (given) => Number.isFinite(given) && Number(given) >= min),
  boolean: value<boolean>("true or false", (given) => typeof given === "boolean"),
  string: (pattern: RegExp, expected: string) =>
    value<string>(expected, (given) => typeof given === "string" && pattern.test(given)),
  text: value<string>("text that is not empty", (given) => typeof given === "string" && given !== ""),
  /** Of a PostgreSQL schema. */
  schema: value<string>(
    "1 to 50 lower case letters, digits and _",
    (given) => typeof given === "string" && /^[a-z_][a-z0-9_]{0,49}$/.test(given),
  ),
  /** Of a source or a tenant. */
  name: value<string>(
    "1 to 64 of A-Z a-z 0-9 . _ : -",
    (given) => typeof given === "string" && /^[A-Za-z0-9._:-]{1,64}$/.test(given),
  ),
  oneOf: <Name extends string>(...names: readonly Name[]) =>
    value<Name>(`one of ${names.join(", ")}`, (given) => names.includes(given as Name)),
  functionOf: <Type>() => value<Type>("a function", (given) => typeof given === "function"),
  random: value<Random>("a function", (given) => typeof given === "function")
    .default(() => systemRandom)
    .transform(guardRandom),
  clock: objectWith<Clock>("a clock with now, monotonic and schedule", "now", "monotonic", "schedule"),
};

export interface RequestLimits {
  /** Largest request body; the response to a larger one is 413. Default 1,048,576. */
  readonly bodyBytesMax: number;
  /** Time in which the body must arrive; the response to a slower one is 408. Default 10,000. */
  readonly bodyTimeoutMs: number;
}

/** Limits that are left out, or undefined, have their defaults. */
export type RequestLimitOptions = {
  readonly [Name in keyof RequestLimits]?: RequestLimits[Name] | undefined;
};

/** Options that several factories have. */
export const sharedOptions = {
  // Checked where they are turned into keys.
  secrets: z.unknown().optional(),
  toleranceSeconds: value<number>(
    "a positive number",
    (given) => Number.isFinite(given) && Number(given) > 0,
  ).default(defaults.toleranceSeconds),
  source: option.name.default(defaults.source),
  clock: option.clock.default(systemClock),
  limits: strictOptions<RequestLimits>()({
    bodyBytesMax: option.positiveInteger.default(defaults.limits.bodyBytesMax),
    bodyTimeoutMs: option.durationMs.default(defaults.limits.bodyTimeoutMs),
  }).prefault({}),
  onRejected: option.functionOf<(rejection: WebhookRejectedError) => void>().optional(),
};

/** An object with these options and no others. Each option of the interface `Options` must have a schema. */
export function strictOptions<Options>() {
  return <Shape extends { readonly [Name in keyof Required<Options>]: z.ZodType }>(shape: Shape) =>
    z.strictObject(shape, {
      error: (issue) =>
        issue.code === "unrecognized_keys"
          ? unknownOption(issue.keys[0] ?? "", Object.keys(shape))
          : "an object",
    });
}

const unknownOption = (name: string, known: readonly string[]) =>
  name + (didYouMean(name, known) || `; expected one of ${known.join(", ")}`);

/**
 * Fills in the defaults.
 *
 * @throws {ReceiverError} `code` at the first wrong option, such as `createReceiver: leaseMs: expected …, got …`
 */
export function parseOptions<Schema extends z.ZodType>(
  caller: string,
  schema: Schema,
  given: unknown,
  code: ReceiverErrorCode = "CONFIGURATION_INVALID",
): z.output<Schema> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path ?? [];
  const place = [caller, ...(path.length > 0 ? [path.join(".")] : [])].join(": ");
  if (issue?.code === "unrecognized_keys")
    throw new ReceiverError(code, `${place}: unknown option ${issue.message}`);
  const found = path.reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown>)[step], given);
  throw new ReceiverError(
    code,
    `${place}: expected ${issue?.message}, got ${describe(found, path.length === 0)}`,
  );
}

/** Strings that are whole arguments may be secrets, so only their type is named. */
function describe(found: unknown, isWholeArgument: boolean): string {
  if (typeof found === "string") return isWholeArgument ? "a string" : JSON.stringify(found.slice(0, 64));
  if (Array.isArray(found)) return "an array";
  if (typeof found === "object" && found !== null) return "an object";
  return typeof found === "function" ? "a function" : String(found);
}

function isIntegerFrom(min: number, given: unknown): given is number {
  return Number.isSafeInteger(given) && (given as number) >= min;
}
