import { z } from "zod";
import { access, id, role, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

export const createApiKeyBody = z.strictObject({
  workspaceId: id.optional().describe("Default: the first workspace."),
  userId: id.optional().describe("An existing member. Default: a new user joins for this key."),
  role: role.optional().describe("Role of the new user. Default: `admin`."),
  access: access.optional().describe("Default: `read_write`."),
  expiresInDays: z
    .union([z.literal(30), z.literal(60), z.literal(90), z.literal(365)])
    .optional()
    .describe("Default: 90."),
});

const apiKeyFields = {
  id,
  workspaceId: id,
  userId: id,
  membershipId: id.nullable().describe("`null` once the user has left the workspace."),
  role: role.nullable(),
  access,
  expiresAt: time,
};

export const issuedApiKey = z.object({ ...apiKeyFields, apiKey: z.string().describe("Shown here only.") });

export const apiKeyView = z.object({ ...apiKeyFields, createdAt: time, revokedAt: time.nullable() });

export const issuedPartnerKey = z.object({ id, partnerId: id, partnerApiKey: z.string() });

export const membershipView = z.object({ id, userId: id, workspaceId: id, role });

export const keyRoutes = [
  defineRoute({
    method: "POST",
    path: "/api-keys",
    summary: "Creates an API key, as the web app would.",
    body: createApiKeyBody,
    status: 201,
    answer: issuedApiKey,
    run: (admin, { body }) => admin.createApiKey(body),
  }),
  defineRoute({
    method: "GET",
    path: "/api-keys",
    summary: "All API keys, without the keys themselves.",
    answer: z.object({ data: z.array(apiKeyView) }),
    run: (admin) => ({ data: admin.apiKeys() }),
  }),
  defineRoute({
    method: "DELETE",
    path: "/api-keys/{id}",
    summary: "Revokes an API key.",
    run: (admin, { params }) => admin.revokeApiKey(params.id),
  }),
  defineRoute({
    method: "POST",
    path: "/partner-keys",
    summary: "Creates a partner key.",
    body: z.strictObject({ partnerId: id.optional().describe("Default: a new partner.") }),
    status: 201,
    answer: issuedPartnerKey,
    run: (admin, { body }) => admin.createPartnerKey(body),
  }),
  defineRoute({
    method: "PATCH",
    path: "/memberships/{id}",
    summary: "Changes a member's role, at once and for live tokens too.",
    body: z.strictObject({ role }),
    answer: membershipView,
    run: (admin, { params, body }) => admin.changeMembership(params.id, body),
  }),
  defineRoute({
    method: "DELETE",
    path: "/memberships/{id}",
    summary: "Removes a member, at once and for live tokens too.",
    run: (admin, { params }) => admin.removeMembership(params.id),
  }),
];
