// The one description of the settings: options, settings files, flags and the control API are checked with it, and
// the site's table and mock-settings.schema.json are made from it. Loaded only to check settings that
// were given: a mock with its defaults starts without zod.

import { isHostName } from "@workspace-tasks/kernel/host.ts";
import * as z from "zod";
import { checkSchema } from "../checks.ts";
import type { MockServerIssue } from "../errors.ts";
import { taskPlansSchema } from "../state/records.ts";
import { seedPlanSchema } from "./seed-plan.ts";
import type { SettingsChanges } from "./settings.ts";

const yearMs = 365 * 86_400_000;

const count = (about: string) => z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional().describe(about);
const duration = (about: string, minMs = 1) => z.int().min(minMs).max(yearMs).optional().describe(about);
const group = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).optional();

const errorCode = z.string().regex(/^[A-Z][A-Z0-9_]*$/, "expected a code such as NOT_FOUND");

export const settingsSchema = z.strictObject({
  tokenLifetimeSeconds: z
    .int()
    .min(1)
    .max(yearMs / 1_000)
    .optional()
    .describe("Longest life of an access token. A longer requested lifetime is clamped."),
  rateLimit: group({
    requests: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe("Requests of one key per window. One more gets 429, `Retry-After` and `RATE_LIMITED`."),
    windowMs: duration("Length of the window."),
    window: z
      .enum(["sliding", "fixed"])
      .optional()
      .describe(
        "`sliding`: a request counts for one window. `fixed`: the count restarts at each multiple of the window (A-5).",
      ),
  }),
  unauthenticatedStatus: z
    .union([z.literal(200), z.literal(401)])
    .optional()
    .describe("HTTP status beside `UNAUTHENTICATED`: 200 or 401 (A-4)."),
  errors: z
    .array(
      z.strictObject({
        code: errorCode,
        message: z.string(),
        replaceWith: z.strictObject({ code: errorCode.optional(), message: z.string().min(1).optional() }),
      }),
    )
    .max(1_000)
    .optional()
    .describe(
      "GraphQL errors of the mock, by their code and message, that get another code or message (A-2 to A-8, A-13, A-14).",
    ),
  allowLoopbackHttp: z
    .boolean()
    .optional()
    .describe("Whether webhook endpoints on this computer may use plain HTTP (A-6)."),
  httpHostsAllowed: z
    .array(z.string().refine(isHostName, "expected a host name without a port"))
    .max(1_000)
    .optional()
    .describe(
      "Other hosts whose webhook endpoints may use plain HTTP, such as a service of Docker Compose or `fd00::2`.",
    ),
  delivery: group({
    scheduleMs: z
      .array(z.int().min(0).max(yearMs))
      .min(1)
      .max(100)
      .optional()
      .describe("Wait before each attempt (A-11). A change applies to waits that start later."),
    timeoutMs: duration("Time limit of one attempt."),
    inFlightPerEndpointMax: count("Attempts to one endpoint in flight at the same time."),
    reorderHoldMs: duration(
      "An attempt that a `reorder` fault defers is sent after this time at the latest.",
    ),
  }),
  tasks: group({
    plans: taskPlansSchema
      .optional()
      .describe(
        "How a task of each type progresses by itself; `*` is for every other type (A-18). A running task keeps its plan.",
      ),
    retryGraceMs: duration(
      "A failure this soon after the task's first start has no `customerError`, now or later (A-17).",
      0,
    ),
    typesWithEvents: z
      .array(z.string().min(1))
      .min(1)
      .max(1_000)
      .optional()
      .describe("The catalog's `taskTypes`; tasks of other types emit no `task.*` and `subtask.*` events."),
  }),
  seedData: seedPlanSchema
    .optional()
    .describe(
      "What a mock has at its start and after a reset: see [seed data](#seed-data). Needs a restart.",
    ),
  bounds: group({
    bodyBytesMax: count("A longer GraphQL request gets 413. Past 64 MiB its connection is cut."),
    listItemsMax: count("Past it `BAD_USER_INPUT`, for lists in the input and for `limit`."),
    journalEntriesMax: count("Past it the oldest entries of the request journal are dropped."),
    tasksMax: count("Past it a task is rejected with `CONFLICT`."),
    deliveriesMax: count(
      "Past it the endpoint with the most loses its oldest finished delivery; without any, a pending one, with a `delivery.discarded` event.",
    ),
    uploadBytesMax: count("A longer upload gets 413."),
    endpointPageItemsMax: count("A larger `limit` gets `BAD_USER_INPUT`."),
    secretGraceSecondsMax: count("A longer grace period gets `BAD_USER_INPUT`."),
  }),
});

/** What is wrong with the changes; nothing when they can be used. */
export const issuesOfSettings = (changes: unknown): readonly MockServerIssue[] =>
  checkSchema(settingsSchema, changes).issues ?? [];

// The schema and the type describe the same changes.
null as unknown as z.output<typeof settingsSchema> satisfies SettingsChanges;

/** One setting of the schema, such as `rateLimit.requests`. */
export interface SettingDescription {
  readonly name: string;
  readonly about: string;
}

/** Every setting, in the order of the schema. */
export const settingDescriptions: readonly SettingDescription[] = Object.entries(
  settingsSchema.shape,
).flatMap(([name, schema]) => {
  const inner = schema.unwrap();
  if (name === "seedData" || !(inner instanceof z.ZodObject)) return describe(name, schema);
  return Object.entries(inner.shape as z.ZodRawShape).flatMap(([field, value]) =>
    describe(`${name}.${field}`, value as z.ZodType),
  );
});

function describe(name: string, { description = "" }: z.ZodType): SettingDescription {
  return { name, about: description };
}
