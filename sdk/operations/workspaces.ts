import * as s from "@workspace-tasks/kernel/schema.ts";
import { FailureError, failure } from "../call/failure.ts";
import { defineOperation, type Router } from "../call/operation.ts";
import type { Call, Send } from "../engine/engine.ts";
import type * as generated from "../generated/operations.ts";
import type { WorkspaceRole as KnownWorkspaceRole, MeQuery } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";

// The public types pick their fields from the schema's types, so that an editor shows the schema's own descriptions, and
// have only the fields that the documents select. The compiler keeps the two in step: a field that a document does not
// select cannot be assigned.

/** One of the values known today, or any other text: the service may add values at any time. @see interface §9 */
export type OpenUnion<Known extends string> = Known | (string & {});

/** The same fields, some of them with another type. */
export type Override<Base, Overrides> = {
  [Field in keyof Base]: Field extends keyof Overrides ? Overrides[Field] : Base[Field];
};

/** The fields of a schema's type that a document selects. */
export type PickSelected<SchemaType, Selection, Overrides = unknown> = Override<
  Pick<SchemaType, keyof Selection & keyof SchemaType>,
  Overrides
>;

type RawMe = NonNullable<MeQuery["me"]>;
type RawWorkspaceUser = Extract<RawMe, { readonly __typename: "WorkspaceUser" }>;

/** `admin`, `l1`, `l2`, `l3`, or a role added later. @see interface §2 */
export type WorkspaceRole = OpenUnion<KnownWorkspaceRole>;
/** The workspace of a key. @see interface §2 */
export interface Workspace extends PickSelected<schema.Workspace, RawWorkspaceUser["workspace"]> {}
/** The user in one workspace: what a workspace's API key acts as. @see interface §2 */
export interface WorkspaceUser
  extends Pick<RawWorkspaceUser, "__typename">,
    PickSelected<
      schema.WorkspaceUser,
      RawWorkspaceUser,
      { readonly role: WorkspaceRole; readonly workspace: Workspace }
    > {}
/** The account-wide user. Its fields are beyond the interface (documented). */
export interface User extends schema.User {
  readonly __typename: "User";
}
/** Who a token acts as; compare `__typename`. @see interface §2 */
export type Me = WorkspaceUser | User;

const meOperation = defineOperation("Me", "me");

/** Fetches who the token of a router acts as. */
export function fetchMe(send: Send, router: Router, call: CallOptions | undefined): Call<Me> {
  const method = router === "base" ? "me" : "partner.me";
  return send({ ...meOperation, router, method }, {}, call, ({ me }) => me ?? unexpected("null"));
}

/** The data of a list: it belongs to the workspace of `me`. */
interface WorkspaceData<Workspace> {
  readonly me:
    | { readonly __typename: "User" }
    | { readonly __typename: "WorkspaceUser"; readonly workspace: Workspace }
    | null;
}

/** The workspace in a response's data. */
export function workspaceIn<Workspace>({ me }: WorkspaceData<Workspace>): Workspace {
  return me?.__typename === "WorkspaceUser" ? me.workspace : unexpected(me?.__typename ?? "null");
}

export function notFound(noun: string): never {
  const message = `the workspace has no ${noun} with this id`;
  throw new FailureError(failure("NOT_FOUND", message, { outcome: "rejected" }));
}

function unexpected(got: string): never {
  const message = `expected the service to identify a workspace user, got ${got}`;
  throw new FailureError(failure("RESPONSE_INVALID", message, { outcome: "rejected" }));
}

/** A user who now belongs to a workspace. Beyond the interface (documented). */
export interface AddedUser extends schema.AddedUser {}
export interface AddUsersInput
  extends Omit<generated.AddUsersToTheWorkspaceMutationVariables, "workspaceId"> {}

/** Size class of a tax firm. @see interface §2 */
export type FirmSize = "xs" | "sm" | "md" | "lg" | "xl";

export interface CreateWorkspaceInput
  extends Override<
    generated.CreateWorkspaceInput,
    {
      readonly firmSize: FirmSize | null | undefined;
      readonly metadata: Readonly<Record<string, unknown>> | null | undefined;
    }
  > {}

/** A workspace as its creation returns it; `status` is for example `active`. @see interface §2 */
export interface PartnerWorkspace
  extends PickSelected<schema.Workspace, generated.CreateWorkspaceMutation["createWorkspace"]> {}

/** The workspaces of the firms that a partner serves. @see interface §4 */
export interface PartnerWorkspaces {
  /**
   * Creates one workspace per tax firm. `displayName` must not be blank.
   *
   * Errors: `PERMISSION_DENIED`, `INPUT_INVALID`. Not idempotent: after an error with outcome `unknown` a second call
   * may create a second workspace, so put your own reference into `metadata`.
   */
  create(input: CreateWorkspaceInput, call?: CallOptions): Call<PartnerWorkspace>;

  /**
   * Adds users to a workspace at once, without an invitation; an existing account is attached, not duplicated.
   *
   * Errors: `NOT_FOUND`, `PERMISSION_DENIED`, `INPUT_INVALID`. Idempotent. Beyond the interface, which names the
   * operation without its shape (documented).
   */
  addUsers(workspaceId: string, input: AddUsersInput, call?: CallOptions): Call<readonly AddedUser[]>;
}

const createWorkspace = defineOperation("CreateWorkspace", "partner.workspaces.create");
const addUsers = defineOperation("AddUsersToTheWorkspace", "partner.workspaces.addUsers", {
  idempotent: true,
});

// Fields that the interface does not show are passed on.
const createInput = s.looseObject({
  displayName: s.nonBlankString,
  firmSize: s.nullish(s.oneOf("xs", "sm", "md", "lg", "xl")),
  metadata: s.nullish(s.plainObject),
});

const emailAddress = s.refineString(
  "an e-mail address",
  (value) => value.includes("@"),
  "a string without @",
);
const addUsersInput = s.strictObject({
  workspaceId: s.nonEmptyString,
  userEmails: s.nonEmptyArray(emailAddress),
});

export function createPartnerWorkspaces(send: Send): PartnerWorkspaces {
  return {
    create: (input, call) => send(createWorkspace, (check) => ({ input: check(createInput, input) }), call),

    addUsers: (workspaceId, input, call) =>
      send(addUsers, (check) => check(addUsersInput, { ...input, workspaceId }), call),
  };
}
