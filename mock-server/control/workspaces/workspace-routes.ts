import * as z from "zod";
import { roleSchema } from "../../state/records.ts";
import { id, listOf } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";

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
