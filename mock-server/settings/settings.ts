import { catalogTaskTypes } from "@workspace-tasks/events/catalog";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { Immutable } from "../state/fault.ts";
import type { TaskPlan, TaskPlans } from "../state/records.ts";
import type { SeedPlan } from "./seed-plan.ts";

/** Days that an API key can live. @see interface §5 */
export const keyLifetimesInDays = [30, 60, 90, 365] as const;
export const keyLifetimeInDaysDefault = 90;

const stageDurationMs = 1_000;

const timedPlan = (...stages: string[]): TaskPlan => ({
  progression: "timed",
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

const seedPlan: SeedPlan = {
  workspaces: [
    {
      name: "Example Tax Firm",
      members: [{ name: "Example Admin", email: "admin@example.com", role: "admin" }],
    },
  ],
};

/** An error of the mock that another service words differently. */
export interface ErrorReplacement {
  readonly code: string;
  readonly message: string;
  readonly replaceWith: { readonly code?: string | undefined; readonly message?: string | undefined };
}

/** The defaults; `settings-schema.ts` says what each setting is. */
export const defaultSettings = {
  /** @see interface §8 */
  tokenLifetimeSeconds: 180,
  rateLimit: {
    /** @see interface §8 */
    requests: 120,
    windowMs: 60_000,
    window: "sliding" as "sliding" | "fixed",
  },
  unauthenticatedStatus: 200 as 200 | 401,
  errors: [] as readonly ErrorReplacement[],
  allowLoopbackHttp: true,
  httpHostsAllowed: [] as readonly string[],
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
    reorderHoldMs: 5_000,
  },
  tasks: {
    plans,
    retryGraceMs: 0,
    /** @see interface §6 */
    typesWithEvents: catalogTaskTypes as readonly string[],
  },
  seedData: seedPlan,
  bounds: {
    bodyBytesMax: 1_048_576,
    listItemsMax: 1_000,
    journalEntriesMax: 10_000,
    tasksMax: 200_000,
    deliveriesMax: 100_000,
    uploadBytesMax: 100 * 1_048_576,
    /** @see interface §8 */
    endpointPageItemsMax: 100,
    /** @see interface §4 */
    secretGraceSecondsMax: 604_800,
  },
};

export type Settings = Immutable<typeof defaultSettings>;

/** Any part of the settings; a list, a task plan or the seed data replaces the default as a whole. */
export type SettingsChanges = {
  readonly [Name in keyof Settings]?:
    | (Settings[Name] extends readonly unknown[] | number | boolean | string | SeedPlan
        ? Settings[Name]
        : { readonly [Inner in keyof Settings[Name]]?: Settings[Name][Inner] | undefined })
    | undefined;
};

/** The settings with these changes. A list, a task plan or the seed data replaces what was there. */
export const withSettings = (changes: SettingsChanges = {}, settings: Settings = defaultSettings): Settings =>
  merge("", settings, changes) as Settings;

function merge(name: string, base: unknown, change: unknown): unknown {
  if (change === undefined) return base;
  const isGroup = isPlainObject(base) && isPlainObject(change) && name !== "seedData";
  if (!isGroup) return change;
  // Task plans go by the names of task types, which are an open set: a plan replaces one as a whole.
  if (name === "tasks.plans") return { ...base, ...change };
  const names = Object.keys({ ...base, ...change });
  const entries = names.map((field) => [
    field,
    merge(name === "" ? field : `${name}.${field}`, base[field], change[field]),
  ]);
  return Object.fromEntries(entries);
}

// Bounds that no setting changes. They protect the memory and the stack of this process, and are higher than what a client
// of the service needs.

/** Levels of JSON in a GraphQL request. Deeper: 400. */
export const jsonDepthMax = 100;
/** Tokens of a GraphQL document. More: `GRAPHQL_PARSE_FAILED`. */
export const queryTokensMax = 2_000;
/** Levels of fields of a GraphQL document, fragments followed. Deeper: `GRAPHQL_VALIDATION_FAILED`. */
export const queryDepthMax = 12;
/** Characters of a query in the journal, and of a request whose variables are kept there. */
export const journalTextCharsMax = 8_192;
/** Worlds at the same time, besides the mock's own. More: `CONFLICT`. */
export const worldsMax = 2_000;
/** Bodies of deliveries, and 1,000 bytes for each delivery and attempt. Past it they are discarded as past `deliveriesMax`. */
export const deliveryBytesMax = 64 * 1_048_576;
/** Bytes of all uploads of a world; as base64, they leave half of a snapshot for everything else. More: 507. */
export const uploadStorageBytesMax = 128 * 1_048_576;
/** Endpoints of a workspace. More: `CONFLICT`. */
export const endpointsPerWorkspaceMax = 10_000;
/** Old secrets of an endpoint in their grace period. More: `CONFLICT`. */
export const secretsPerEndpointMax = 50;
/** Characters of a receiver's response that are kept per attempt. */
export const responseBodyCharsMax = 16_384;
/** Real sockets, in real time also under a virtual clock: of one receiver, and for reading one URL. */
export const outboundLimits = {
  socketsPerOriginMax: 64,
  readTimeoutMs: 15_000,
  readBytesMax: 100 * 1_048_576,
} as const;

/** Bars of a histogram, unless the caller says how many. */
export const barsDefault = 60;
