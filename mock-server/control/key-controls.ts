import type { z } from "zod";
import { createApiKey, createPartnerKey, revokeApiKey } from "../rules/identity/api-keys.ts";
import { changeMembership, removeMembership } from "../rules/identity/members.ts";
import type { Role } from "../state/records.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import type { createApiKeyBody, issuedApiKey, issuedPartnerKey } from "./key-routes.ts";
import { type ApiKeyView, type MembershipView, viewApiKey, viewMembership } from "./views.ts";

export type NewApiKey = Readonly<z.input<typeof createApiKeyBody>>;
export type IssuedApiKey = Readonly<z.infer<typeof issuedApiKey>>;
export type IssuedPartnerKey = Readonly<z.infer<typeof issuedPartnerKey>>;

/** Keys and memberships, as the web app would handle them. */
export interface KeyControls {
  /** A key of its own user; the first workspace, `admin`, `read_write` and 90 days unless said otherwise. */
  createApiKey(input?: NewApiKey): IssuedApiKey;
  apiKeys(): ApiKeyView[];
  revokeApiKey(apiKeyId: string): void;
  createPartnerKey(input?: { readonly partnerId?: string | undefined }): IssuedPartnerKey;
  /** Takes effect at once, on live tokens too. */
  changeMembership(membershipId: string, change: { readonly role: Role }): MembershipView;
  /** Takes effect at once, on live tokens too. */
  removeMembership(membershipId: string): void;
}

export function createKeyControls(worlds: WorldHolder): KeyControls {
  return {
    createApiKey(input = {}) {
      const workspaceId = input.workspaceId ?? worlds.seedData.workspaceId;
      const { apiKey, record, membership } = createApiKey(worlds.current, { ...input, workspaceId });
      const { createdAt: _createdAt, revokedAt: _revokedAt, ...fields } = viewApiKey(worlds.current, record);
      return { ...fields, membershipId: membership.id, apiKey };
    },
    apiKeys: () => [...worlds.current.state.apiKeys.values()].map((key) => viewApiKey(worlds.current, key)),
    revokeApiKey(apiKeyId) {
      revokeApiKey(worlds.current, apiKeyId);
    },
    createPartnerKey(input = {}) {
      const { partnerApiKey, record } = createPartnerKey(worlds.current, input);
      return { id: record.id, partnerId: record.partnerId, partnerApiKey };
    },
    changeMembership: (membershipId, { role }) =>
      viewMembership(changeMembership(worlds.current, membershipId, role)),
    removeMembership: (membershipId) => removeMembership(worlds.current, membershipId),
  };
}
