import type { MembershipRecord, Role, UserRecord, WorkspaceRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { type Caller, forbidden, reachesWorkspace, requireToken, requireWriter } from "../identity/caller.ts";
import { addMember, addUser } from "../identity/members.ts";
import { checkListLength } from "../list-bounds.ts";
import { ServiceError } from "../service-error.ts";

export type CreateWorkspaceInput = {
  readonly displayName: string;
  readonly metadata?: unknown;
  readonly firmSize?: string | null | undefined;
};

/** @see interface §2 */
export const firmSizes = ["xs", "sm", "md", "lg", "xl"];

/** One workspace per tax firm; only a partner may create it. @see interface §4 */
export function createWorkspace(world: World, caller: Caller, input: CreateWorkspaceInput): WorkspaceRecord {
  const known = requireToken(caller);
  if (known.kind !== "partner") throw forbidden("only a partner's token creates workspaces");
  const { displayName } = input;
  if (displayName.trim() === "")
    throw new ServiceError("BAD_USER_INPUT", "Workspace displayName must not be empty");
  if (input.firmSize != null && !firmSizes.includes(input.firmSize)) {
    throw new ServiceError("BAD_USER_INPUT", `Workspace firmSize must be one of ${firmSizes.join(", ")}`);
  }
  if (input.metadata != null && !isPlainObject(input.metadata)) {
    throw new ServiceError("BAD_USER_INPUT", "Workspace metadata must be an object");
  }
  return addWorkspace(world, {
    displayName,
    partnerId: known.user.id,
    firmSize: input.firmSize ?? null,
    metadata: input.metadata ?? null,
  });
}

export type NewWorkspace = {
  readonly displayName: string;
  readonly partnerId: string | null;
  readonly firmSize?: string | null;
  readonly metadata?: unknown;
};

/** Opens a workspace without asking who calls. */
export function addWorkspace(world: World, input: NewWorkspace): WorkspaceRecord {
  const { displayName, partnerId, firmSize = null, metadata = null } = input;
  const workspace: WorkspaceRecord = {
    id: world.newId("workspace"),
    name: displayName,
    slug: freeSlug(world, displayName),
    displayName,
    status: "active",
    workspaceType: partnerId === null ? null : "partner",
    firmSize,
    metadata,
    createdAtMs: world.clock.now(),
    partnerId,
  };
  world.state.workspaces.set(workspace.id, workspace);
  world.emit({ type: "workspace.created", workspaceId: workspace.id, slug: workspace.slug });
  return workspace;
}

export type AddUsersInput = { readonly workspaceId: string; readonly userEmails: readonly string[] };
export type AddedUser = { id: string; email: string; name: string; role: Role };

/**
 * Adds users at once, without an invitation; an existing account is attached, not duplicated, and a
 * member stays what it is. The first user of a workspace becomes its administrator, later ones `l1`:
 * somebody must be able to administer it. Lies beyond the interface.
 */
export function addUsersToWorkspace(world: World, caller: Caller, input: AddUsersInput): AddedUser[] {
  const known = requireWriter(caller);
  const workspace = reachWorkspace(world, known, input.workspaceId);
  if (known.kind === "member" && known.membership.role !== "admin") {
    throw forbidden(`role ${known.membership.role} is not admin`);
  }
  checkListLength(world, "userEmails", input.userEmails);
  const emails = [...new Set(input.userEmails.map((email) => email.trim().toLowerCase()))];
  const wrong = emails.find((email) => !/^[^\s@]+@[^\s@]+$/.test(email));
  if (emails.length === 0 || wrong !== undefined) {
    throw new ServiceError("BAD_USER_INPUT", "userEmails must be a list of email addresses");
  }
  return emails.map((email) => {
    const user = findUserByEmail(world, email) ?? addUser(world, { name: nameFromEmail(email), email });
    const { role } = memberOf(world, user, workspace) ?? joinWorkspace(world, user, workspace);
    return { id: user.id, email: user.email, name: user.name, role };
  });
}

/**
 * The workspace, when the caller's token reaches it; one of another partner is as if it did not
 * exist (P8).
 */
export function reachWorkspace(world: World, caller: Caller, workspaceId: string): WorkspaceRecord {
  const workspace = world.state.workspaces.get(workspaceId);
  if (!workspace || !reachesWorkspace(caller, workspace)) {
    throw new ServiceError("NOT_FOUND", "Workspace not found");
  }
  return workspace;
}

/** The workspaces of an account: those it is a member of, then those it created as a partner. */
export function accountWorkspaces(world: World, user: UserRecord): WorkspaceRecord[] {
  const found = new Set<WorkspaceRecord>();
  for (const membership of world.state.memberships.values()) {
    if (membership.userId === user.id) found.add(workspaceOf(world, membership));
  }
  for (const workspace of world.state.workspaces.values()) {
    if (workspace.partnerId === user.id) found.add(workspace);
  }
  return [...found];
}

export function workspaceOf(world: World, { workspaceId }: MembershipRecord): WorkspaceRecord {
  const workspace = world.state.workspaces.get(workspaceId);
  if (!workspace) throw new Error(`membership names the missing workspace ${workspaceId}`);
  return workspace;
}

export function userOf(world: World, { userId }: MembershipRecord): UserRecord {
  const user = world.state.users.get(userId);
  if (!user) throw new Error(`membership names the missing user ${userId}`);
  return user;
}

function joinWorkspace(world: World, user: UserRecord, workspace: WorkspaceRecord): MembershipRecord {
  const isFirst = ![...world.state.memberships.values()].some((other) => other.workspaceId === workspace.id);
  return addMember(world, {
    userId: user.id,
    workspaceId: workspace.id,
    role: isFirst ? "admin" : "l1",
  });
}

function memberOf(world: World, user: UserRecord, workspace: WorkspaceRecord): MembershipRecord | undefined {
  for (const membership of world.state.memberships.values()) {
    if (membership.userId === user.id && membership.workspaceId === workspace.id) return membership;
  }
  return undefined;
}

function findUserByEmail(world: World, email: string): UserRecord | undefined {
  for (const user of world.state.users.values()) if (user.email === email) return user;
  return undefined;
}

const nameFromEmail = (email: string) => email.slice(0, email.indexOf("@"));

function freeSlug(world: World, displayName: string): string {
  const taken = new Set([...world.state.workspaces.values()].map(({ slug }) => slug));
  const words = displayName
    .normalize("NFKD")
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  const base = words?.join("-").slice(0, 60) ?? "workspace";
  let slug = base;
  for (let number = 2; taken.has(slug); number++) slug = `${base}-${number}`;
  return slug;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
