// The caller is derived for every request from the token's key and the current membership: a changed role or a removed
// membership takes effect on tokens that are already issued (K6).

import { toBase64Url } from "@workspace-tasks/kernel/bytes.ts";
import { keyLifetimeInDaysDefault, keyLifetimesInDays } from "../settings/settings.ts";
import type {
  ApiKeyRecord,
  KeyAccess,
  MembershipRecord,
  PartnerKeyRecord,
  Role,
  UserRecord,
  WorkspaceRecord,
} from "../state/records.ts";
import type { TokenClaims } from "../world/tokens.ts";
import type { World } from "../world/world.ts";
import { findRecord } from "./records.ts";
import { badInput, found, notFound, ServiceError } from "./service-error.ts";

/** Who a request acts as. */
export type Caller = Anonymous | AccountCaller | MemberCaller | PartnerCaller;

/** No token, or none that is valid. */
interface Anonymous {
  readonly kind: "anonymous";
  readonly reason: string;
}

interface TokenCaller {
  readonly tokenId: string;
  readonly keyId: string;
  /** The partner's account, for a partner. */
  readonly user: UserRecord;
}

/** A `userToken`: the account, not tied to a workspace. */
interface AccountCaller extends TokenCaller {
  readonly kind: "user";
}

/** A `workspaceToken`: a member of one workspace. */
interface MemberCaller extends TokenCaller {
  readonly kind: "member";
  readonly membership: MembershipRecord;
  readonly workspace: WorkspaceRecord;
  readonly access: KeyAccess;
}

/** A partner's `accessToken`: reaches every workspace that the partner created. */
interface PartnerCaller extends TokenCaller {
  readonly kind: "partner";
}

/** Reads an `Authorization` header. Never throws: `Anonymous.reason` says what is wrong with it. */
export function authorise(world: World, authorization: string | null | undefined): Caller {
  if (!authorization) return anonymous("no authorization header");
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (!token) return anonymous("authorization header is not a Bearer token");
  const claims = world.tokens.read(token);
  if (!claims) return anonymous("token was not issued by this service");
  if (claims.endsAtMs <= world.clock.now()) return anonymous("token expired");
  if (world.state.endedTokens.has(claims.jti)) return anonymous("token was ended by a fault");

  const { kind, keyId, jti: tokenId } = claims;
  const { state } = world;
  if (kind === "partner") {
    const user = state.users.get(state.partnerKeys.get(keyId)?.partnerId ?? "");
    return user ? { kind, tokenId, keyId, user } : anonymous("there is no such partner key any more");
  }
  const key = state.apiKeys.get(keyId);
  const user = state.users.get(key?.userId ?? "");
  if (!key || !user) return anonymous("there is no such API key any more");
  if (kind === "user") return { kind, tokenId, keyId, user };
  const membership = membershipOfKey(world, key);
  const workspace = state.workspaces.get(key.workspaceId);
  if (!membership || !workspace) return anonymous("the user is no longer a member of the workspace");
  return { kind: "member", tokenId, keyId, user, membership, workspace, access: key.access };
}

const anonymous = (reason: string): Anonymous => ({ kind: "anonymous", reason });

/** Ends the presented token early, for this request and all later ones. */
export function endToken(world: World, caller: Caller): void {
  if (caller.kind === "anonymous") return;
  world.state.endedTokens.set(caller.tokenId, { id: caller.tokenId, endedAtMs: world.clock.now() });
}

/** The API key or partner key behind the call. */
export const keyIdOf = (caller: Caller): string | null => (caller.kind === "anonymous" ? null : caller.keyId);

/** @throws ServiceError UNAUTHENTICATED without a valid token */
export function requireToken(caller: Caller): Exclude<Caller, Anonymous> {
  if (caller.kind === "anonymous") throw unauthenticated(caller.reason);
  return caller;
}

/** @throws ServiceError FORBIDDEN unless the token is a workspace's */
function requireMember(caller: Caller): MemberCaller {
  const authenticated = requireToken(caller);
  if (authenticated.kind === "member") return authenticated;
  throw forbidden(`a ${authenticated.kind} token is not tied to a workspace`);
}

/** @throws ServiceError FORBIDDEN unless the token may change something: K7 */
export function requireWriter(caller: Caller): MemberCaller | PartnerCaller {
  const authenticated = requireToken(caller);
  if (authenticated.kind === "user") throw forbidden("a user token is not tied to a workspace");
  if (authenticated.kind === "member") requireReadWrite(authenticated);
  return authenticated;
}

/** @throws ServiceError FORBIDDEN unless a member of a workspace may change something in it */
export function requireWritingMember(caller: Caller): MemberCaller {
  requireWriter(caller);
  return requireMember(caller);
}

/** Webhook administration. @throws ServiceError FORBIDDEN unless an administrator's `read_write` token (W14) */
export function requireAdministrator(caller: Caller): MemberCaller {
  const member = requireMember(caller);
  requireReadWrite(member);
  if (member.membership.role !== "admin") throw forbidden(`role ${member.membership.role} is not admin`);
  return member;
}

function requireReadWrite({ access }: MemberCaller): void {
  if (access === "read_only") throw forbidden("the API key is read_only");
}

/**
 * The record, when the caller's token reaches its workspace; any other is as if it did not exist (P8).
 * @throws ServiceError NOT_FOUND with this message
 */
export function reachable<Found extends { readonly workspaceId: string }>(
  world: World,
  caller: Caller,
  record: Found | undefined,
  message: string,
): Found {
  const workspace = record && world.state.workspaces.get(record.workspaceId);
  if (record && workspace && reachesWorkspace(requireToken(caller), workspace)) return record;
  throw notFound(message);
}

/** Whether the caller's token reaches this workspace: A-19. */
export function reachesWorkspace(caller: Caller, workspace: WorkspaceRecord): boolean {
  if (caller.kind === "member") return caller.workspace.id === workspace.id;
  return caller.kind === "partner" && workspace.partnerId === caller.user.id;
}

export const unauthenticated = (reason: string) =>
  new ServiceError("UNAUTHENTICATED", "Unauthorized", reason);
export const forbidden = (reason: string) => new ServiceError("FORBIDDEN", "Unauthorized", reason);

interface CreateApiKeyInput {
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

/** The lifetime of the keys that a world begins with: a test that moves time does not lose them. */
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

/** Creates a key that no test outlives. */
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

interface ExchangeInput {
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

interface NewUser {
  readonly name?: string;
  readonly email?: string;
  /** First part of a generated address. Default: `user`. */
  readonly mailbox?: string;
}

/** Creates an account. Without a name and an address it gets unique generated ones. */
export function addUser(world: World, { name = "User", email, mailbox = "user" }: NewUser = {}): UserRecord {
  const number = world.state.users.size + 1;
  const user: UserRecord = {
    id: world.newId("user"),
    name: email === undefined ? `${name} ${number}` : name,
    email: email ?? `${mailbox}-${number}@example.com`,
  };
  world.state.users.set(user.id, user);
  return user;
}

export type NewMember = Pick<MembershipRecord, "userId" | "workspaceId" | "role">;

export function addMember(world: World, input: NewMember): MembershipRecord {
  const membership: MembershipRecord = {
    id: world.newId("membership"),
    ...input,
    createdAtMs: world.clock.now(),
  };
  world.state.memberships.set(membership.id, membership);
  world.emit({ type: "membership.created", membershipId: membership.id, role: input.role });
  return membership;
}

/** Takes effect at once, also on tokens that are already issued (K6). */
export function changeMembership(world: World, membershipId: string, role: Role): MembershipRecord {
  const membership = findMembership(world, membershipId);
  membership.role = role;
  world.emit({ type: "membership.changed", membershipId, role });
  return membership;
}

/** Takes effect at once: valid tokens of this membership are rejected from now on (K6). */
export function removeMembership(world: World, membershipId: string): void {
  findMembership(world, membershipId);
  world.state.memberships.delete(membershipId);
  world.emit({ type: "membership.removed", membershipId });
}

/** The user's membership in a workspace. */
export const membershipOf = ({ state }: World, of: Omit<NewMember, "role">): MembershipRecord | undefined =>
  findRecord(state.memberships, (each) => each.userId === of.userId && each.workspaceId === of.workspaceId);

const lastOfKey = new WeakMap<ApiKeyRecord, MembershipRecord>();

/** The membership that a key acts by. Every request asks for it, so the last answer is tried first. */
function membershipOfKey(world: World, key: ApiKeyRecord): MembershipRecord | undefined {
  const last = lastOfKey.get(key);
  if (last && world.state.memberships.get(last.id) === last) return last;
  const membership = membershipOf(world, key);
  if (membership) lastOfKey.set(key, membership);
  return membership;
}

const findMembership = (world: World, membershipId: string): MembershipRecord =>
  found(world.state.memberships.get(membershipId), "Membership not found");
