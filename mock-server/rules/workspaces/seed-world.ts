import type { World } from "../../world/world.ts";
import type { SeedData } from "../../world/world-holder.ts";
import { createApiKey, createPartnerKey } from "../identity/api-keys.ts";
import { addMember, addUser } from "../identity/members.ts";
import { addWorkspace } from "./workspaces.ts";

/** Every new world has a partner, a workspace that the partner created, its administrator, and a key of each. */
export function seedWorld(world: World): SeedData {
  const partner = addUser(world, { name: "Example Partner", email: "partner@example.com" });
  const { partnerApiKey } = createPartnerKey(world, { partnerId: partner.id });
  const workspace = addWorkspace(world, { displayName: "Example Tax Firm", partnerId: partner.id });
  const admin = addUser(world, { name: "Example Admin", email: "admin@example.com" });
  addMember(world, { userId: admin.id, workspaceId: workspace.id, role: "admin" });
  const { apiKey } = createApiKey(world, { workspaceId: workspace.id, userId: admin.id });
  return { workspaceId: workspace.id, apiKey, partnerApiKey };
}
