import * as z from "zod";
import { seedPlanSchema } from "../../settings/seed-plan.ts";
import type { Settings, SettingsChanges } from "../../settings/settings.ts";
import { settingsSchema } from "../../settings/settings-schema.ts";
import { id } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";

const changes = settingsSchema as z.ZodType as z.ZodType<SettingsChanges, SettingsChanges>;

const settings = z.looseObject({}) as unknown as z.ZodType<Settings>;

const named = z.object({ id });

const seed = z.object({
  workspaces: z.record(
    z.string().describe("The workspace's name."),
    z.object({
      id,
      members: z.record(
        z.string().describe("The email address."),
        z.object({
          userId: id,
          membershipId: id,
          apiKey: z.string().nullable().describe("`null` when the key was not created for the seed data."),
        }),
      ),
      clients: z.record(z.string(), named),
      connections: z.record(z.string(), named.extend({ jobs: z.record(z.string(), named) })),
      endpoints: z.record(z.string().describe("The URL."), named.extend({ signingSecret: z.string() })),
    }),
  ),
});

export type SeedView = z.output<typeof seed>;

export const settingsRoutes = {
  getSettings: defineRoute("GET /settings", { summary: "The settings as they are now.", response: settings }),
  changeSettings: defineRoute("PATCH /settings", {
    summary: "Changes these settings; the others stay as they are.",
    input: changes,
    response: settings,
  }),
  getSeedData: defineRoute("GET /seed-data", {
    summary: "Ids and keys of the seed data that the mock started with, by name.",
    response: seed.extend({ partnerApiKey: z.string().describe("Of the partner gateway.") }),
  }),
  addSeedData: defineRoute("POST /seed-data", {
    summary:
      "Adds workspaces, members, clients, connections, jobs and endpoints; one whose name exists is kept as it is.",
    input: seedPlanSchema,
    status: 201,
    response: seed,
  }),
};
