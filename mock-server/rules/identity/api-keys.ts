import { toBase64Url } from "@workspace-tasks/kernel/bytes.ts";
import { keyLifetimeInDaysDefault, keyLifetimesInDays } from "../../settings/settings.ts";
import type { ApiKeyRecord, KeyAccess, PartnerKeyRecord, Role } from "../../state/records.ts";
import type { TokenClaims } from "../../world/tokens.ts";
import type { World } from "../../world/world.ts";
import { findRecord } from "../find-record.ts";
import { badInput, found, notFound, ServiceError } from "../service-error.ts";
import { addMember, addUser, membershipOf } from "./members.ts";

export interface CreateApiKeyInput {
  readonly workspaceId: string;
  /** An existing member; absent: a new user joins the workspace for this key. */
  readonly userId?: string | undefined;
  /** Role of the new user; ignored for an existing member. Default: `admin`. */
  readonly role?: Role | undefined;
  /** Default: `read_write`. */
  readonly access?: KeyAccess | undefined;
  /** Default: 90. */
  readonly expiresInDays?: (typeof keyLifetimesInDays)[number] | undefined;
}

/**
 * Creates a personal key for one workspace, as the web app does.
 * @returns the only copy of the key (K8), with its record
 */
export function createApiKey(world: World, input: CreateApiKeyInput) {
  const lifetimeDays = input.expiresInDays ?? keyLifetimeInDaysDefault;
  if (!keyLifetimesInDays.includes(lifetimeDays)) {
    throw badInput("API key expiry must be 30, 60, 90 or 365 days");
  }
  if (!world.state.workspaces.has(input.workspaceId)) throw notFound("Workspace not found");
  const membership = input.userId
    ? membershipOf(world, { userId: input.userId, workspaceId: input.workspaceId })
    : addMember(world, {
        userId: addUser(world).id,
        workspaceId: input.workspaceId,
        role: input.role ?? "admin",
      });
  if (!membership) throw notFound("User is not a member of the workspace");

  const apiKey = newKey(world, "wtk", "api-key-secret");
  const nowMs = world.clock.now();
  const record: ApiKeyRecord = {
    id: world.newId("api-key"),
    keyHash: world.hashing.sha256(apiKey),
    userId: membership.userId,
    workspaceId: input.workspaceId,
    access: input.access ?? "read_write",
    createdAtMs: nowMs,
    expiresAtMs: nowMs + lifetimeDays * 86_400_000,
    revokedAtMs: null,
  };
  world.state.apiKeys.set(record.id, record);
  world.emit({ type: "api-key.created", apiKeyId: record.id, workspaceId: record.workspaceId });
  return { apiKey, record, membership };
}

/** The record of a key in plain text. */
export const findApiKey = (world: World, apiKey: string): ApiKeyRecord | undefined =>
  findByKey(world, world.state.apiKeys, apiKey);

/** Issued tokens stay valid until their own expiry; the next exchange fails. */
export function revokeApiKey(world: World, apiKeyId: string): ApiKeyRecord {
  const record = found(world.state.apiKeys.get(apiKeyId), "API key not found");
  record.revokedAtMs ??= world.clock.now();
  world.emit({ type: "api-key.revoked", apiKeyId });
  return record;
}

/** A key for the gateway. Absent `partnerId`: a new partner with an account of its own. */
export function createPartnerKey(world: World, input: { readonly partnerId?: string | undefined } = {}) {
  const partnerId = input.partnerId ?? addUser(world, { name: "Partner", mailbox: "partner" }).id;
  if (!world.state.users.has(partnerId)) throw notFound("Partner not found");
  const partnerApiKey = newKey(world, "wtp", "partner-key-secret");
  const record: PartnerKeyRecord = {
    id: world.newId("partner-key"),
    keyHash: world.hashing.sha256(partnerApiKey),
    partnerId,
    createdAtMs: world.clock.now(),
    revokedAtMs: null,
  };
  world.state.partnerKeys.set(record.id, record);
  world.emit({ type: "partner-key.created", partnerKeyId: record.id });
  return { partnerApiKey, record };
}

export interface ExchangeInput {
  readonly refreshToken: string;
  readonly expiresInSeconds?: number | null | undefined;
}

/**
 * Exchanges an API key for a `userToken` and a `workspaceToken`.
 * @throws ServiceError UNAUTHENTICATED, the same for a wrong, revoked and expired key;
 *   BAD_USER_INPUT for a lifetime below 1
 * @see interface §5
 */
export function exchangeApiKey(world: World, input: ExchangeInput) {
  const { tokenLifetimeSeconds } = world.settings;
  const requestedSeconds = input.expiresInSeconds ?? tokenLifetimeSeconds;
  if (requestedSeconds < 1) throw badInput("expiresInSeconds must be at least 1");

  const key = findByKey(world, world.state.apiKeys, input.refreshToken);
  if (!key) throw invalidKey("no such API key");
  return issueTokens(world, key, requestedSeconds);
}

/** The tokens of a key whose record is known. @throws ServiceError UNAUTHENTICATED as the exchange does */
export function issueTokens(
  world: World,
  key: ApiKeyRecord,
  requestedSeconds = world.settings.tokenLifetimeSeconds,
) {
  const nowMs = world.clock.now();
  if (key.revokedAtMs !== null) throw invalidKey("the API key is revoked");
  if (key.expiresAtMs <= nowMs) throw invalidKey("the API key is expired");
  const membership = membershipOf(world, key);
  if (!membership) throw invalidKey("the API key's user is no longer a member of the workspace");

  const lifetimeSeconds = Math.min(requestedSeconds, world.settings.tokenLifetimeSeconds);
  const common = { sub: key.userId, keyId: key.id };
  return {
    userToken: mintToken(world, { ...common, kind: "user" }, lifetimeSeconds),
    workspaceToken: mintToken(
      world,
      {
        ...common,
        kind: "workspace",
        workspaceId: key.workspaceId,
        membershipId: membership.id,
        access: key.access,
      },
      lifetimeSeconds,
    ),
  };
}

/** Exchanges a partner key for a gateway token. Not part of the interface. */
export function loginPartner(world: World, token: string) {
  const key = findByKey(world, world.state.partnerKeys, token);
  if (!key) throw invalidPartnerToken("no such partner key");
  return issuePartnerToken(world, key);
}

/** A token of a partner key whose record is known. */
export function issuePartnerToken(world: World, key: PartnerKeyRecord) {
  if (key.revokedAtMs !== null) throw invalidPartnerToken("the partner key is revoked");
  const claims = { sub: key.partnerId, keyId: key.id, kind: "partner" } as const;
  return { accessToken: mintToken(world, claims, world.settings.tokenLifetimeSeconds) };
}

const invalidKey = (reason: string) => new ServiceError("UNAUTHENTICATED", "Invalid refresh token", reason);
const invalidPartnerToken = (reason: string) =>
  new ServiceError("UNAUTHENTICATED", "Invalid personal API token", reason);

function mintToken(
  world: World,
  claims: Omit<TokenClaims, "jti" | "iat" | "exp" | "endsAtMs">,
  lifetimeSeconds: number,
): string {
  const nowMs = world.clock.now();
  const endsAtMs = nowMs + lifetimeSeconds * 1_000;
  return world.tokens.mint({
    jti: world.newId("token"),
    ...claims,
    iat: Math.floor(nowMs / 1_000),
    exp: Math.floor(endsAtMs / 1_000),
    endsAtMs,
  });
}

/** Whether this text is an API key or a partner key of the world, valid or not. */
export const hasKey = (world: World, key: string): boolean =>
  findByKey(world, world.state.apiKeys, key) !== undefined ||
  findByKey(world, world.state.partnerKeys, key) !== undefined;

function findByKey<Key extends { readonly keyHash: string }>(
  world: World,
  keys: ReadonlyMap<string, Key>,
  presented: string,
): Key | undefined {
  const presentedHash = world.hashing.sha256(presented);
  return findRecord(keys, ({ keyHash }) => keyHash === presentedHash);
}

const newKey = (world: World, prefix: string, stream: string) =>
  `${prefix}_${toBase64Url(world.random.bytes(stream, 32))}`;
