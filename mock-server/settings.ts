import type { TaskPlan, TaskPlans } from "./state/task-plan.ts";

/** Every number of the service that a test may change. Those that the interface does not fix name their assumption. */
export interface Settings {
  /** Longest life of an access token in seconds. @see interface §8 */
  readonly tokenLifetimeSeconds: number;
  readonly rateLimit: {
    /** @see interface §8 */
    readonly requests: number;
    readonly windowMs: number;
    /** a sliding log unless switched. */
    readonly window: "sliding" | "fixed";
  };
  /** 200 with a GraphQL error, or HTTP 401 as well. */
  readonly unauthenticatedStatus: 200 | 401;
  /** plain http to loopback hosts. */
  readonly allowLoopbackHttp: boolean;
  readonly delivery: {
    /** wait before each attempt, the first included. */
    readonly scheduleMs: readonly number[];
    readonly timeoutMs: number;
    /** Attempts to one endpoint that are in flight at the same time. */
    readonly inFlightPerEndpointMax: number;
    /** Length of a response body that is kept per attempt. */
    readonly responseBodyCharsMax: number;
    /** An attempt that a `reorder` fault has deferred is sent after this time even if no other one was sent. */
    readonly reorderHoldMs: number;
  };
  readonly tasks: {
    /** How a task of each type progresses by itself; `*` is for every other type. */
    readonly plans: TaskPlans;
    /** A failure this soon after the task's first start is within the retry grace period. */
    readonly retryGraceMs: number;
  };
  /** Sockets of the mock itself, in real time also under a virtual clock. */
  readonly outbound: {
    /** Sockets to one origin at the same time. */
    readonly socketsPerOriginMax: number;
    /** Time limit for reading a URL: a connection check, an artifact. */
    readonly readTimeoutMs: number;
    /** Bytes that are read from one URL. */
    readonly readBytesMax: number;
  };
  readonly bounds: {
    readonly bodyBytesMax: number;
    /** Nesting of a request's JSON. */
    readonly jsonDepthMax: number;
    /** Lexical tokens of one GraphQL document. */
    readonly queryTokensMax: number;
    readonly queryDepthMax: number;
    /** Items of one list, sent or requested. */
    readonly listItemsMax: number;
    readonly journalEntriesMax: number;
    /** Length of a query, and of its variables as JSON, that is kept per journal entry. */
    readonly journalTextCharsMax: number;
    readonly deliveriesMax: number;
    readonly uploadBytesMax: number;
    /** Bytes of all uploads together. */
    readonly uploadStorageBytesMax: number;
    readonly endpointsPerWorkspaceMax: number;
    /** Items of one page of webhook endpoints. @see interface §8 */
    readonly endpointPageItemsMax: number;
    /** Secrets of one endpoint that verify at the same time. */
    readonly secretsPerEndpointMax: number;
    /** Longest grace period of a rotated secret. @see interface §4 */
    readonly secretGraceSecondsMax: number;
  };
}

/** Days that an API key can live. @see interface §5 */
export const keyLifetimesInDays = [30, 60, 90, 365] as const;
export const keyLifetimeInDaysDefault = 90;

const stageDurationMs = 1_000;

const timedPlan = (...stages: string[]): TaskPlan => ({
  mode: "timed",
  stages: stages.map((type) => ({ type, durationMs: stageDurationMs })),
});

/** A-18 fixes the stages of `TAX_PREP`; those of the other types are assumed. */
const defaultTaskPlans: TaskPlans = {
  TAX_PREP: timedPlan("document-classification", "tax-extraction", "reconciliation", "data-entry", "review"),
  TAX_PREP_LITE: timedPlan("document-classification", "tax-extraction"),
  BINDER: timedPlan("document-classification", "binder-assembly"),
  TAX_REVIEW: timedPlan("reconciliation", "review"),
  TAX_ADVISOR: timedPlan("analysis"),
  "*": timedPlan("processing"),
};

export const defaultSettings: Settings = {
  tokenLifetimeSeconds: 180,
  rateLimit: { requests: 120, windowMs: 60_000, window: "sliding" },
  unauthenticatedStatus: 200,
  allowLoopbackHttp: true,
  delivery: {
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
    inFlightPerEndpointMax: 64,
    responseBodyCharsMax: 1_024,
    reorderHoldMs: 5_000,
  },
  tasks: { plans: defaultTaskPlans, retryGraceMs: 0 },
  outbound: { socketsPerOriginMax: 64, readTimeoutMs: 15_000, readBytesMax: 100 * 1_048_576 },
  bounds: {
    bodyBytesMax: 1_048_576,
    jsonDepthMax: 100,
    queryTokensMax: 2_000,
    queryDepthMax: 12,
    listItemsMax: 1_000,
    journalEntriesMax: 10_000,
    journalTextCharsMax: 8_192,
    deliveriesMax: 1_000_000,
    uploadBytesMax: 100 * 1_048_576,
    uploadStorageBytesMax: 512 * 1_048_576,
    endpointsPerWorkspaceMax: 10_000,
    endpointPageItemsMax: 100,
    secretsPerEndpointMax: 50,
    secretGraceSecondsMax: 604_800,
  },
};

/** Any part of the settings; a list or a task plan replaces the one that stood there. */
export type SettingsChanges = {
  readonly [Name in keyof Settings]?: Settings[Name] extends readonly unknown[] | number | boolean | string
    ? Settings[Name]
    : Partial<Settings[Name]>;
};

/**
 * The defaults with these changes.
 * @throws TypeError for a setting there is not; RangeError for a number that makes no sense
 */
export function withSettings(changes: SettingsChanges = {}): Settings {
  checkNames("settings", changes, defaultSettings);
  const { rateLimit, delivery, tasks, outbound, bounds, ...plain } = changes;
  const settings: Settings = {
    ...defaultSettings,
    ...plain,
    rateLimit: { ...defaultSettings.rateLimit, ...rateLimit },
    delivery: { ...defaultSettings.delivery, ...delivery },
    tasks: {
      ...defaultSettings.tasks,
      ...tasks,
      plans: { ...defaultSettings.tasks.plans, ...tasks?.plans },
    },
    outbound: { ...defaultSettings.outbound, ...outbound },
    bounds: { ...defaultSettings.bounds, ...bounds },
  };
  checkNumbers("settings", settings);
  return settings;
}

function checkNames(path: string, given: object, known: object): void {
  for (const [name, value] of Object.entries(given)) {
    const expected: unknown = (known as Record<string, unknown>)[name];
    if (expected === undefined) throw new TypeError(`unknown setting ${path}.${name}`);
    const isGroup = typeof expected === "object" && expected !== null && !Array.isArray(expected);
    // Task plans go by the names of task types, which are an open set.
    if (isGroup && name !== "plans" && value) checkNames(`${path}.${name}`, value, expected);
  }
}

function checkNumbers(path: string, value: unknown): void {
  if (typeof value === "number") {
    // A wait before an attempt, and a task's times, may be nothing; everything else counts something.
    const min = path.includes(".scheduleMs.") || path.startsWith("settings.tasks.") ? 0 : 1;
    if (!Number.isFinite(value) || value < min) {
      throw new RangeError(`expected ${path} to be a number of at least ${min}, got ${value}`);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) checkNumbers(`${path}.${name}`, inner);
  }
}
