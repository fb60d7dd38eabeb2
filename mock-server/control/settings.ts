import * as z from "zod";
import { isSameJson } from "../checks.ts";
import { MockServerError } from "../errors.ts";
import { addSeed, viewSeed } from "../rules/seeding.ts";
import { keepPlansOfRunningTasks } from "../rules/tasks.ts";
import { seedPlanSchema } from "../settings/seed-plan.ts";
import { type Settings, type SettingsChanges, withSettings } from "../settings/settings.ts";
import { issuesOfSettings, settingsSchema } from "../settings/settings-schema.ts";
import type { World } from "../world/world.ts";
import { id } from "./fields.ts";
import { defineRoute } from "./route.ts";

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
  getSettings: defineRoute("GET /settings", {
    summary: "The settings as they are now.",
    response: settings,
    run: ({ worlds }) => worlds.current.settings,
  }),
  changeSettings: defineRoute("PATCH /settings", {
    summary: "Changes these settings; the others stay as they are.",
    input: changes,
    response: settings,
    run: ({ worlds }, changes) => changeSettings(worlds.current, changes),
  }),
  getSeedData: defineRoute("GET /seed-data", {
    summary: "Ids and keys of the seed data that the mock started with, by name.",
    response: seed.extend({ partnerApiKey: z.string().describe("Of the partner gateway.") }),
    run: ({ worlds: { current, startSettings, seedData } }) => ({
      ...viewSeed(current, startSettings.seedData, seedData.apiKeys),
      partnerApiKey: seedData.partnerApiKey,
    }),
  }),
  addSeedData: defineRoute("POST /seed-data", {
    summary:
      "Adds workspaces, members, clients, connections, jobs and endpoints; one whose name exists is kept as it is.",
    input: seedPlanSchema,
    status: 201,
    response: seed,
    run({ worlds }, plan) {
      const world = worlds.current;
      const { partnerId = null } = world.state.workspaces.get(worlds.seedData.workspaceId) ?? {};
      const { apiKeys } = addSeed(world, plan, partnerId);
      return viewSeed(world, plan, apiKeys);
    },
  }),
};

function changeSettings(world: World, changes: SettingsChanges = {}): Settings {
  const settings = withSettings(changes, world.settings);
  // A change of one field can contradict another field, which the change does not have.
  const [issue] = issuesOfSettings(settings);
  if (issue)
    throw new MockServerError("BODY_INVALID", `${issue.path}: ${issue.message}`, { issues: [issue] });
  if (!isSameJson(settings.seedData, world.settings.seedData)) {
    throw new MockServerError(
      "CONFLICT",
      "seedData cannot change while the mock runs; add records with POST /seed-data, or leave it out",
    );
  }
  keepPlansOfRunningTasks(world);
  world.changeSettings(settings);
  world.emit({ type: "settings.changed" });
  return settings;
}
