import type { ApiKeyRecord, MembershipRecord, Role, UserRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { findRecord } from "../find-record.ts";
import { found } from "../service-error.ts";

export interface NewUser {
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
export function membershipOfKey(world: World, key: ApiKeyRecord): MembershipRecord | undefined {
  const last = lastOfKey.get(key);
  if (last && world.state.memberships.get(last.id) === last) return last;
  const membership = membershipOf(world, key);
  if (membership) lastOfKey.set(key, membership);
  return membership;
}

const findMembership = (world: World, membershipId: string): MembershipRecord =>
  found(world.state.memberships.get(membershipId), "Membership not found");
