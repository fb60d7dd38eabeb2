import { toBase64Url } from "@workspace-tasks/kernel/bytes.ts";
import { keyLifetimeInDaysDefault, keyLifetimesInDays } from "../../settings/settings.ts";
import type { ApiKeyRecord, KeyAccess, PartnerKeyRecord, Role } from "../../state/records.ts";
import type { TokenClaims } from "../../world/tokens.ts";
import type { World } from "../../world/world.ts";
import { badInput, found, notFound, ServiceError } from "../service-error.ts";
import { addMember, addUser, membershipOf, membershipOfKey } from "./members.ts";

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

/** Of the keys that a world begins with: a test that moves time, or the system's clock, does not lose them. */
const seededKeyLifetimeInDays = 36_500;

/**
 * Creates a personal key for one workspace, as the web app does.
 * @returns the only copy of the key (K8), with its record
 */
export function createApiKey(world: World, input: CreateApiKeyInput) {
  const lifetimeDays = input.expiresInDays ?? keyLifetimeInDaysDefault;
  if (!keyLifetimesInDays.includes(lifetimeDays)) {
    throw badInput("API key expiry must be 30, 60, 90 or 365 days");
  }
  return addApiKey(world, input, lifetimeDays);
}

/** As `createApiKey`, a key that no test outlives. */
export const createSeededKey = (world: World, input: Omit<CreateApiKeyInput, "expiresInDays">) =>
  addApiKey(world, input, seededKeyLifetimeInDays);

function addApiKey(world: World, input: CreateApiKeyInput, lifetimeDays: number) {
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
    id: idOfKey(world, apiKey),
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
  world.state.apiKeys.get(idOfKey(world, apiKey));

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
    id: idOfKey(world, partnerApiKey),
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

  const key = findApiKey(world, input.refreshToken);
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
  if (!membershipOfKey(world, key))
    throw invalidKey("the API key's user is no longer a member of the workspace");

  const lifetimeSeconds = Math.min(requestedSeconds, world.settings.tokenLifetimeSeconds);
  const common = { sub: key.userId, keyId: key.id };
  return {
    userToken: mintToken(world, { ...common, kind: "user" }, lifetimeSeconds),
    workspaceToken: mintToken(
      world,
      { ...common, kind: "workspace", workspaceId: key.workspaceId },
      lifetimeSeconds,
    ),
  };
}

/** Exchanges a partner key for a gateway token. Not part of the interface. */
export function loginPartner(world: World, token: string) {
  const key = findPartnerKey(world, token);
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
  findApiKey(world, key) !== undefined || findPartnerKey(world, key) !== undefined;

const findPartnerKey = (world: World, partnerApiKey: string): PartnerKeyRecord | undefined =>
  world.state.partnerKeys.get(idOfKey(world, partnerApiKey));

/** Follows from the key, of which nothing else is kept (K8): equal in every run, with a real clock as well. */
const idOfKey = (world: World, key: string): string => world.random.uuidOf(key);

const newKey = (world: World, prefix: string, stream: string) =>
  `${prefix}_${toBase64Url(world.random.bytes(stream, 32))}`;
