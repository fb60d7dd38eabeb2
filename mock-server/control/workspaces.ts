import * as z from "zod";
import {
  changeMembership,
  createApiKey,
  createPartnerKey,
  exchangeApiKey,
  issuePartnerToken,
  issueTokens,
  membershipOf,
  removeMembership,
  revokeApiKey,
} from "../rules/identity.ts";
import { found } from "../rules/service-error.ts";
import { type ApiKeyRecord, keyAccessSchema, roleSchema, stateSchema } from "../state/records.ts";
import { isoTimeOrNull } from "../time/duration.ts";
import type { World } from "../world/world.ts";
import { id, listOf, shown, shownSchema, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

const { workspaces, memberships, apiKeys, partnerKeys } = stateSchema.shape;
const membership = shownSchema(memberships.element);
const partnerKey = shownSchema(partnerKeys.element);

export const workspaceRoutes = {
  listWorkspaces: defineRoute("GET /workspaces", {
    summary: "All workspaces.",
    response: listOf(shownSchema(workspaces.element)),
    run: ({ worlds }) => ({ data: [...worlds.current.state.workspaces.values()].map(shown) }),
  }),
  updateMembership: defineRoute("PATCH /memberships/{id}", {
    summary: "Changes a member's role, at once and also for issued tokens.",
    input: z.strictObject({ role: roleSchema }),
    response: membership,
    run: ({ worlds }, membershipId, { role }) => shown(changeMembership(worlds.current, membershipId, role)),
  }),
  removeMembership: defineRoute("DELETE /memberships/{id}", {
    summary: "Removes a member, at once and also for issued tokens.",
    run: ({ worlds }, membershipId) => removeMembership(worlds.current, membershipId),
  }),
};

const newApiKey = z.strictObject({
  workspaceId: id.optional().describe("Default: the first workspace."),
  userId: id.optional().describe("An existing member. Default: a new user joins for this key."),
  role: roleSchema.optional().describe("Role of the new user. Default: `admin`."),
  access: keyAccessSchema.optional().describe("Default: `read_write`."),
  expiresInDays: z
    .union([z.literal(30), z.literal(60), z.literal(90), z.literal(365)])
    .optional()
    .describe("Default: 90."),
});

const apiKey = shownSchema(apiKeys.element).extend({
  membershipId: id.nullable().describe("`null` once the user has left the workspace."),
  role: roleSchema.nullable(),
});

const rateLimit = z.object({
  keyId: id,
  used: z.int(),
  remaining: z.int(),
  resetsAt: time.nullable().describe("When the oldest counted request leaves the window."),
});

export type ApiKeyView = z.output<typeof apiKey>;

export const keyRoutes = {
  createApiKey: defineRoute("POST /api-keys", {
    summary: "Creates an API key, as the web app does.",
    input: newApiKey,
    status: 201,
    response: apiKey.extend({ apiKey: z.string().describe("Shown only here.") }),
    run({ worlds }, input = {}) {
      const workspaceId = input.workspaceId ?? worlds.seedData.workspaceId;
      const { apiKey, record } = createApiKey(worlds.current, { ...input, workspaceId });
      return { ...viewApiKey(worlds.current, record), apiKey };
    },
  }),
  listApiKeys: defineRoute("GET /api-keys", {
    summary: "All API keys, without the keys themselves.",
    response: listOf(apiKey),
    run: ({ worlds: { current } }) => ({
      data: [...current.state.apiKeys.values()].map((key) => viewApiKey(current, key)),
    }),
  }),
  revokeApiKey: defineRoute("DELETE /api-keys/{id}", {
    summary: "Revokes an API key.",
    run: ({ worlds }, apiKeyId) => revokeApiKey(worlds.current, apiKeyId),
  }),
  createPartnerKey: defineRoute("POST /partner-keys", {
    summary: "Creates a partner key.",
    input: z.strictObject({ partnerId: id.optional().describe("Default: a new partner.") }),
    status: 201,
    response: partnerKey.extend({ partnerApiKey: z.string().describe("Shown only here.") }),
    run({ worlds }, input = {}) {
      const { partnerApiKey, record } = createPartnerKey(worlds.current, input);
      return { ...shown(record), partnerApiKey };
    },
  }),
  listPartnerKeys: defineRoute("GET /partner-keys", {
    summary: "All partner keys, without the keys themselves.",
    response: listOf(partnerKey),
    run: ({ worlds }) => ({ data: [...worlds.current.state.partnerKeys.values()].map(shown) }),
  }),
  createPartnerToken: defineRoute("POST /partner-tokens", {
    summary: "Issues a token of a partner key.",
    input: z.strictObject({ keyId: id }),
    status: 201,
    response: z.object({ accessToken: z.string() }),
    run: ({ worlds: { current } }, { keyId }) =>
      issuePartnerToken(current, found(current.state.partnerKeys.get(keyId), "Partner key not found")),
  }),
  createTokens: defineRoute("POST /tokens", {
    summary: "Exchanges an API key for tokens, as a client does.",
    input: z.strictObject({
      apiKey: z.string().optional().describe("Default: the mock's own."),
      keyId: id.optional().describe("Id of the key, in place of the key."),
    }),
    status: 201,
    response: z.object({ userToken: z.string(), workspaceToken: z.string() }),
    run({ worlds }, { apiKey = worlds.seedData.apiKey, keyId } = {}) {
      const world = worlds.current;
      if (keyId === undefined) return exchangeApiKey(world, { refreshToken: apiKey });
      return issueTokens(world, found(world.state.apiKeys.get(keyId), "API key not found"));
    },
  }),
  listRateLimits: defineRoute("GET /rate-limits", {
    summary: "Requests used and left of each key that has made some in its window.",
    response: listOf(rateLimit),
    run: ({ worlds: { current } }) => ({
      data: current.limiter
        .usages(current.clock.now())
        .map(({ resetsAtMs, ...usage }) => ({ ...usage, resetsAt: isoTimeOrNull(resetsAtMs) })),
    }),
  }),
};

function viewApiKey(world: World, key: ApiKeyRecord): ApiKeyView {
  const membership = membershipOf(world, key);
  return { ...shown(key), membershipId: membership?.id ?? null, role: membership?.role ?? null };
}
