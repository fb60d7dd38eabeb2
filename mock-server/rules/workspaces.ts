import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type {
  AddedUser,
  CreateWorkspaceInput,
  MutationAddUsersToTheWorkspaceArgs,
} from "../generated/resolvers.ts";
import type { MembershipRecord, UserRecord, WorkspaceRecord } from "../state/records.ts";
import type { World } from "../world/world.ts";
import {
  addMember,
  addUser,
  type Caller,
  forbidden,
  membershipOf,
  type NewMember,
  reachesWorkspace,
  requireToken,
  requireWriter,
} from "./identity.ts";
import { checkListLength, findRecord, isBlank } from "./records.ts";
import { badInput, notFound } from "./service-error.ts";

/** @see interface §2 */
const firmSizes = ["xs", "sm", "md", "lg", "xl"];

/** One workspace per tax firm; only a partner may create it. @see interface §4 */
export function createWorkspace(world: World, caller: Caller, input: CreateWorkspaceInput): WorkspaceRecord {
  const partner = requireToken(caller);
  if (partner.kind !== "partner") throw forbidden("only a partner's token creates workspaces");
  const { displayName } = input;
  if (isBlank(displayName)) throw badInput("Workspace displayName must not be empty");
  if (input.firmSize != null && !firmSizes.includes(input.firmSize)) {
    throw badInput(`Workspace firmSize must be one of ${firmSizes.join(", ")}`);
  }
  if (input.metadata != null && !isPlainObject(input.metadata)) {
    throw badInput("Workspace metadata must be an object");
  }
  return addWorkspace(world, {
    displayName,
    partnerId: partner.user.id,
    firmSize: input.firmSize ?? null,
    metadata: input.metadata ?? null,
  });
}

interface NewWorkspace {
  readonly displayName: string;
  readonly partnerId: string | null;
  readonly firmSize?: string | null;
  readonly metadata?: unknown;
}

/** Adds a workspace without checking the caller. */
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

/**
 * Adds users at once, without an invitation; an existing account is attached, not duplicated, and a member keeps
 * its role. The first user of a workspace becomes its administrator, later ones `l1`: a workspace needs an
 * administrator. Not part of the interface.
 */
export function addUsersToWorkspace(
  world: World,
  caller: Caller,
  input: MutationAddUsersToTheWorkspaceArgs,
): AddedUser[] {
  const writer = requireWriter(caller);
  if (writer.kind === "member" && writer.membership.role !== "admin") {
    throw forbidden(`role ${writer.membership.role} is not admin`);
  }
  checkListLength(world, "userEmails", input.userEmails);
  const emails = [...new Set(input.userEmails.map((email) => email.trim().toLowerCase()))];
  const wrong = emails.find((email) => !/^[^\s@]+@[^\s@]+$/.test(email));
  if (emails.length === 0 || wrong !== undefined) {
    throw badInput("userEmails must be a list of email addresses");
  }
  const workspace = reachWorkspace(world, writer, input.workspaceId);
  return emails.map((email) => {
    const user = findUserByEmail(world, email) ?? addUser(world, { name: nameFromEmail(email), email });
    const ids = { userId: user.id, workspaceId: workspace.id };
    const { role } = membershipOf(world, ids) ?? joinWorkspace(world, ids);
    return { id: user.id, email: user.email, name: user.name, role };
  });
}

/**
 * The workspace, when the caller's token reaches it; any other is as if it did not exist (P8).
 */
export function reachWorkspace(world: World, caller: Caller, workspaceId: string): WorkspaceRecord {
  const workspace = world.state.workspaces.get(workspaceId);
  if (!workspace || !reachesWorkspace(caller, workspace)) throw notFound("Workspace not found");
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

export const workspaceOf = ({ state }: World, { workspaceId }: MembershipRecord): WorkspaceRecord =>
  referredTo(state.workspaces.get(workspaceId), workspaceId);

export const userOf = ({ state }: World, { userId }: MembershipRecord): UserRecord =>
  referredTo(state.users.get(userId), userId);

function referredTo<Found>(record: Found | undefined, id: string): Found {
  if (!record) throw new Error(`membership refers to the missing record ${id}`);
  return record;
}

function joinWorkspace(world: World, ids: Omit<NewMember, "role">): MembershipRecord {
  const member = findRecord(world.state.memberships, (each) => each.workspaceId === ids.workspaceId);
  return addMember(world, { ...ids, role: member ? "l1" : "admin" });
}

export const findUserByEmail = ({ state }: World, email: string): UserRecord | undefined =>
  findRecord(state.users, (user) => user.email === email);

export const nameFromEmail = (email: string) => email.slice(0, email.indexOf("@"));

function freeSlug(world: World, displayName: string): string {
  const taken = new Set([...world.state.workspaces.values()].map(({ slug }) => slug));
  const words = toAscii(displayName).match(/[a-z0-9]+/g);
  const base = words?.join("-").slice(0, 60) ?? "workspace";
  let slug = base;
  for (let number = 2; taken.has(slug); number++) slug = `${base}-${number}`;
  return slug;
}

/** Letters that Unicode does not decompose into a basic one and marks. */
const undecomposed = new Map(
  Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", þ: "th", ı: "i" }),
);

const toAscii = (text: string) =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^\0-\x7f]/g, (letter) => undecomposed.get(letter) ?? letter);
