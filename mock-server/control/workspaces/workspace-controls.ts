import { changeMembership, removeMembership } from "../../rules/identity.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { workspaceRoutes } from "./workspace-routes.ts";

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
