import * as z from "zod";
import type { SettingsChanges } from "../settings/settings.ts";
import { settingsSchema } from "../settings/settings-schema.ts";
import type { Snapshot } from "../snapshot/snapshot-schema.ts";
import { type FaultPlan, faultPlanSchema, type Immutable } from "../state/fault.ts";
import { id, time } from "./fields.ts";

/** The worlds of a mock by name. */
export interface WorldDirectory {
  /** @throws MockServerError CONFLICT for a name in use, or past 2,000 worlds */
  create(input: NewWorld): Promise<WorldView>;
  list(): WorldView[];
  /** @throws MockServerError NOT_FOUND; CONFLICT for the mock's own world */
  drop(name: string): void;
}

const name = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, hyphens and underscores");

export const world = z.object({
  name: z.string(),
  baseUrl: z.string(),
  gatewayUrl: z.string(),
  inspectorUrl: z.string(),
  apiKey: z.string(),
  partnerApiKey: z.string(),
  workspaceId: id,
  seed: z.number(),
  clock: z.enum(["real", "virtual"]),
  now: time,
});

export const newWorld = z.strictObject({
  name: name.optional().describe("Part of its URLs: `/w/{name}/graphql`. Default: `world-1`, `world-2`, …."),
  seed: z.number().optional().describe("Default: from the mock's seed and the name, or that of its origin."),
  clock: z.enum(["real", "virtual"]).optional().describe("Default: as that of its origin, or of the mock."),
  from: z.string().optional().describe("Name of a world to copy, `main` for the mock's own."),
  snapshot: (z.looseObject({}) as unknown as z.ZodType<Snapshot, object>)
    .optional()
    .describe("Snapshot to start from."),
  faults: (faultPlanSchema as z.ZodType<FaultPlan, FaultPlan>)
    .optional()
    .describe(
      "Injected from the start; a reset restores them. They name events, endpoints and keys that it has then.",
    ),
  settings: (settingsSchema as unknown as z.ZodType<SettingsChanges, SettingsChanges>)
    .optional()
    .describe("Changes to the settings of the mock, or of its origin."),
});

export type WorldView = z.output<typeof world>;

export type NewWorld = Immutable<z.output<typeof newWorld>>;
