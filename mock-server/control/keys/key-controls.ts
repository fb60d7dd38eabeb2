import {
  createApiKey,
  createPartnerKey,
  exchangeApiKey,
  issuePartnerToken,
  issueTokens,
  membershipOf,
  revokeApiKey,
} from "../../rules/identity.ts";
import { found } from "../../rules/service-error.ts";
import type { ApiKeyRecord } from "../../state/records.ts";
import { isoTime, isoTimeOrNull } from "../../time/duration.ts";
import type { World } from "../../world/world.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { ApiKeyView, keyRoutes } from "./key-routes.ts";

export function createKeyControls(worlds: WorldHolder): ControlsOf<typeof keyRoutes> {
  return {
    createApiKey(input = {}) {
      const workspaceId = input.workspaceId ?? worlds.seedData.workspaceId;
      const { apiKey, record } = createApiKey(worlds.current, { ...input, workspaceId });
      return { ...viewApiKey(worlds.current, record), apiKey };
    },
    listApiKeys: () => ({
      data: [...worlds.current.state.apiKeys.values()].map((key) => viewApiKey(worlds.current, key)),
    }),
    revokeApiKey(apiKeyId) {
      revokeApiKey(worlds.current, apiKeyId);
    },
    createPartnerKey(input = {}) {
      const { partnerApiKey, record } = createPartnerKey(worlds.current, input);
      return { id: record.id, partnerId: record.partnerId, partnerApiKey };
    },
    createTokens({ apiKey = worlds.seedData.apiKey, keyId } = {}) {
      const world = worlds.current;
      if (keyId === undefined) return exchangeApiKey(world, { refreshToken: apiKey });
      return issueTokens(world, found(world.state.apiKeys.get(keyId), "API key not found"));
    },
    listPartnerKeys: () => ({
      data: [...worlds.current.state.partnerKeys.values()].map(
        ({ id, partnerId, createdAtMs, revokedAtMs }) => ({
          id,
          partnerId,
          createdAt: isoTime(createdAtMs),
          revokedAt: isoTimeOrNull(revokedAtMs),
        }),
      ),
    }),
    createPartnerToken({ keyId }) {
      const world = worlds.current;
      return issuePartnerToken(world, found(world.state.partnerKeys.get(keyId), "Partner key not found"));
    },
    listRateLimits() {
      const { limiter, clock } = worlds.current;
      return {
        data: limiter
          .usages(clock.now())
          .map(({ resetsAtMs, ...usage }) => ({ ...usage, resetsAt: isoTimeOrNull(resetsAtMs) })),
      };
    },
  };
}

function viewApiKey(world: World, key: ApiKeyRecord): ApiKeyView {
  const membership = membershipOf(world, key);
  return {
    id: key.id,
    workspaceId: key.workspaceId,
    userId: key.userId,
    membershipId: membership?.id ?? null,
    role: membership?.role ?? null,
    access: key.access,
    createdAt: isoTime(key.createdAtMs),
    expiresAt: isoTime(key.expiresAtMs),
    revokedAt: isoTimeOrNull(key.revokedAtMs),
  };
}
