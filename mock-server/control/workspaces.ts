import * as z from "zod";
import { changeMembership, removeMembership } from "../rules/identity.ts";
import { roleSchema } from "../state/records.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import { id, listOf } from "./fields.ts";
import { type ControlsOf, defineRoute } from "./route.ts";

const workspace = z.object({
  id,
  name: z.string(),
  slug: z.string(),
  status: z.string(),
  workspaceType: z.string().nullable(),
  partnerId: id.nullable(),
});

const membership = z.object({ id, userId: id, workspaceId: id, role: roleSchema });

export const workspaceRoutes = {
  listWorkspaces: defineRoute("GET /workspaces", {
    summary: "All workspaces.",
    response: listOf(workspace),
  }),
  updateMembership: defineRoute("PATCH /memberships/{id}", {
    summary: "Changes a member's role, at once and also for issued tokens.",
    input: z.strictObject({ role: roleSchema }),
    response: membership,
  }),
  removeMembership: defineRoute("DELETE /memberships/{id}", {
    summary: "Removes a member, at once and also for issued tokens.",
  }),
};

export function createWorkspaceControls(worlds: WorldHolder): ControlsOf<typeof workspaceRoutes> {
  return {
    listWorkspaces: () => ({
      data: [...worlds.current.state.workspaces.values()].map(
        ({ id, name, slug, status, workspaceType, partnerId }) => ({
          id,
          name,
          slug,
          status,
          workspaceType,
          partnerId,
        }),
      ),
    }),
    updateMembership(membershipId, change) {
      const { id, userId, workspaceId, role } = changeMembership(worlds.current, membershipId, change.role);
      return { id, userId, workspaceId, role };
    },
    removeMembership(membershipId) {
      removeMembership(worlds.current, membershipId);
    },
  };
}
