import { checkNames, checkValue, kind, numberFrom, object, oneOf } from "./check-options.ts";
import { isPlainObject } from "./plain-object.ts";
import type { Immutable } from "./state/immutable.ts";
import type { TaskPlan, TaskPlans } from "./state/task-plan.ts";

/** Days that an API key can live. @see interface §5 */
export const keyLifetimesInDays = [30, 60, 90, 365] as const;
export const keyLifetimeInDaysDefault = 90;

const stageDurationMs = 1_000;

const timedPlan = (...stages: string[]): TaskPlan => ({
  mode: "timed",
  stages: stages.map((type) => ({ type, durationMs: stageDurationMs })),
});

/** A-18 fixes the stages of `TAX_PREP`; those of the other types are assumed. */
const plans: TaskPlans = {
  TAX_PREP: timedPlan("document-classification", "tax-extraction", "reconciliation", "data-entry", "review"),
  TAX_PREP_LITE: timedPlan("document-classification", "tax-extraction"),
  BINDER: timedPlan("document-classification", "binder-assembly"),
  TAX_REVIEW: timedPlan("reconciliation", "review"),
  TAX_ADVISOR: timedPlan("analysis"),
  "*": timedPlan("processing"),
};

/** The defaults. A comment names the assumption where the interface does not fix a value. */
export const defaultSettings = {
  /** Longest lifetime of an access token. @see interface §8 */
  tokenLifetimeSeconds: 180,
  rateLimit: {
    /** @see interface §8 */
    requests: 120,
    windowMs: 60_000,
    /** a sliding log, or a count that restarts with each window. */
    window: "sliding" as "sliding" | "fixed",
  },
  /** 200 with a GraphQL error, or HTTP 401 as well. */
  unauthenticatedStatus: 200 as 200 | 401,
  /** plain http to loopback hosts. */
  allowLoopbackHttp: true,
  delivery: {
    /** wait before each attempt, the first included. */
    scheduleMs: [
      0,
      5_000,
      5 * 60_000,
      30 * 60_000,
      2 * 3_600_000,
      5 * 3_600_000,
      10 * 3_600_000,
      10 * 3_600_000,
    ],
    timeoutMs: 15_000,
    /** Attempts to one endpoint that are in flight at the same time. */
    inFlightPerEndpointMax: 64,
    /** Length of a response body that is kept per attempt. */
    responseBodyCharsMax: 1_024,
    /** An attempt that a `reorder` fault has deferred is sent after this time even if no other one was sent. */
    reorderHoldMs: 5_000,
  },
  tasks: {
    /** How a task of each type progresses by itself; `*` is for every other type. */
    plans,
    /** A failure this soon after the task's first start is within the retry grace period. */
    retryGraceMs: 0,
  },
  /** Sockets of the mock itself, in real time also under a virtual clock. */
  outbound: {
    /** Sockets to one origin at the same time. */
    socketsPerOriginMax: 64,
    /** Time limit for reading a URL: a connection check, an artifact. */
    readTimeoutMs: 15_000,
    /** Bytes that are read from one URL. */
    readBytesMax: 100 * 1_048_576,
  },
  bounds: {
    bodyBytesMax: 1_048_576,
    /** Nesting of a request's JSON. */
    jsonDepthMax: 100,
    /** Lexical tokens of one GraphQL document. */
    queryTokensMax: 2_000,
    queryDepthMax: 12,
    /** Items of one list, sent or requested. */
    listItemsMax: 1_000,
    journalEntriesMax: 10_000,
    /** Length of a query, and of its variables as JSON, that is kept per journal entry. */
    journalTextCharsMax: 8_192,
    /** Worlds at the same time, besides the mock's own. */
    worldsMax: 2_000,
    deliveriesMax: 1_000_000,
    uploadBytesMax: 100 * 1_048_576,
    /** Bytes of all uploads together. */
    uploadStorageBytesMax: 512 * 1_048_576,
    endpointsPerWorkspaceMax: 10_000,
    /** Items of one page of webhook endpoints. @see interface §8 */
    endpointPageItemsMax: 100,
    /** Secrets of one endpoint that verify at the same time. */
    secretsPerEndpointMax: 50,
    /** Longest grace period of a rotated secret. @see interface §4 */
    secretGraceSecondsMax: 604_800,
  },
};

export type Settings = Immutable<typeof defaultSettings>;

/** Any part of the settings; a list or a task plan replaces the default as a whole. */
export type SettingsChanges = {
  readonly [Name in keyof Settings]?:
    | (Settings[Name] extends readonly unknown[] | number | boolean | string
        ? Settings[Name]
        : { readonly [Inner in keyof Settings[Name]]?: Settings[Name][Inner] | undefined })
    | undefined;
};

/** The settings are among its options. */
const caller = "createMockServer";

/** @throws MockServerError CONFIGURATION_INVALID for an unknown setting or a value of the wrong type */
export const withSettings = (changes: SettingsChanges = {}, base: Settings = defaultSettings): Settings =>
  merge("settings", base, changes);

function merge<Defaults extends object>(place: string, defaults: Defaults, changes: unknown): Defaults {
  checkValue(caller, place, changes, object);
  const entries = Object.entries(changes as Partial<Defaults>).filter(([, value]) => value !== undefined);
  // Task plans go by the names of task types, which are an open set.
  if (place === "settings.tasks.plans") return { ...defaults, ...Object.fromEntries(entries) };
  checkNames(caller, place, changes as object, Object.keys(defaults));
  const merged = entries.map(([name, value]) => [
    name,
    mergeValue(`${place}.${name}`, defaults[name as keyof Defaults], value),
  ]);
  return { ...defaults, ...Object.fromEntries(merged) };
}

function mergeValue(place: string, fallback: unknown, value: unknown): unknown {
  if (isPlainObject(fallback)) return merge(place, fallback, value);
  checkValue(caller, place, value, kindOf(place, fallback));
  return value;
}

function kindOf(place: string, fallback: unknown) {
  if (place === "settings.rateLimit.window") return oneOf("sliding", "fixed");
  if (place === "settings.unauthenticatedStatus") return oneOf(200, 401);
  if (typeof fallback === "boolean") return oneOf(true, false);
  const number = numberFrom(place === "settings.tasks.retryGraceMs" ? 0 : 1);
  if (!Array.isArray(fallback)) return number;
  const { accepts } = numberFrom(0);
  return kind("an array of numbers of at least 0", (value) => Array.isArray(value) && value.every(accepts));
}
