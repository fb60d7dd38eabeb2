// The caller is derived for every request from the token's key and the current membership: a changed role or a removed
// membership takes effect on tokens that are already issued (K6).

import type { KeyAccess, MembershipRecord, UserRecord, WorkspaceRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { notFound, ServiceError } from "../service-error.ts";
import { membershipOfKey } from "./members.ts";

/** Who a request acts as. */
export type Caller = Anonymous | AccountCaller | MemberCaller | PartnerCaller;

/** No token, or none that is valid. */
export interface Anonymous {
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
export interface AccountCaller extends TokenCaller {
  readonly kind: "user";
}

/** A `workspaceToken`: a member of one workspace. */
export interface MemberCaller extends TokenCaller {
  readonly kind: "member";
  readonly membership: MembershipRecord;
  readonly workspace: WorkspaceRecord;
  readonly access: KeyAccess;
}

/** A partner's `accessToken`: reaches every workspace that the partner created. */
export interface PartnerCaller extends TokenCaller {
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
export function requireMember(caller: Caller): MemberCaller {
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
