import { FailureError, failure } from "../call/failure.ts";
import { defineOperation, type Router } from "../call/operation.ts";
import type { Call, Send } from "../engine/call.ts";
import type { WorkspaceRole as KnownWorkspaceRole, MeQuery } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { OpenUnion } from "../open-union.ts";
import type { CallOptions } from "../options.ts";
import type { PickSelected } from "./picked-types.ts";

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
