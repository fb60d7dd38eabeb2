import { isSameJson } from "../../checks.ts";
import { MockServerError } from "../../errors.ts";
import { addSeed, viewSeed } from "../../rules/seeding.ts";
import { keepPlansOfRunningTasks } from "../../rules/tasks.ts";
import { type SettingsChanges, withSettings } from "../../settings/settings.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { settingsRoutes } from "./settings-routes.ts";

export function createSettingsControls(worlds: WorldHolder): ControlsOf<typeof settingsRoutes> {
  return {
    getSettings: () => worlds.current.settings,
    async changeSettings(changes = {}) {
      // Loaded when first needed, with zod.
      const { issuesOfSettings } = await import("../../settings/settings-schema.ts");
      const world = worlds.current;
      const settings = withSettings(changes as SettingsChanges, world.settings);
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
    },
    getSeedData: () => ({
      ...viewSeed(worlds.current, worlds.startSettings.seedData, worlds.seedData.apiKeys),
      partnerApiKey: worlds.seedData.partnerApiKey,
    }),
    addSeedData(plan) {
      const world = worlds.current;
      const { partnerId = null } = world.state.workspaces.get(worlds.seedData.workspaceId) ?? {};
      const { apiKeys } = addSeed(world, plan, partnerId);
      return viewSeed(world, plan, apiKeys);
    },
  };
}
