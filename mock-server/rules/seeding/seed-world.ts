import { MockServerError } from "../../errors.ts";
import type { World } from "../../world/world.ts";
import type { SeedData } from "../../world/world-holder.ts";
import { createPartnerKey } from "../identity/api-keys.ts";
import { addUser } from "../identity/members.ts";
import { ServiceError } from "../service-error.ts";
import { addSeed } from "./add-seed.ts";

/**
 * Every new world has a partner, the workspaces of `settings.seedData`, which the partner created, and a key of
 * each member.
 */
export function seedWorld(world: World): SeedData {
  const partner = addUser(world, { name: "Example Partner", email: "partner@example.com" });
  const { partnerApiKey } = createPartnerKey(world, { partnerId: partner.id });
  const { workspaceIds, apiKeys } = seed(world, partner.id);
  return { workspaceId: workspaceIds[0] ?? "", apiKey: apiKeys[0] ?? "", partnerApiKey, apiKeys };
}

function seed(world: World, partnerId: string) {
  try {
    return addSeed(world, world.settings.seedData, partnerId);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new MockServerError("CONFIGURATION_INVALID", `settings.seedData: ${error.message}`, {
      cause: error,
    });
  }
}
