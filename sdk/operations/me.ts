import type { Router } from "../call/operation.ts";
import { defineOperation } from "../call/operation.ts";
import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type { WorkspaceRole as KnownWorkspaceRole, MeQuery } from "../generated/operations.ts";
import { MeDocument } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { OpenUnion } from "../open-union.ts";
import type { CallOptions } from "../options.ts";
import type { PickSelected } from "./selected.ts";

type RawMe = NonNullable<MeQuery["me"]>;
type RawWorkspaceUser = Extract<RawMe, { readonly __typename: "WorkspaceUser" }>;

/** `admin`, `l1`, `l2`, `l3`, or a role added later. @see interface §2 */
export type WorkspaceRole = OpenUnion<KnownWorkspaceRole>;
/** The user in one workspace: the answer for a workspace's API key. @see interface §2 */
export type WorkspaceUser = Pick<RawWorkspaceUser, "__typename"> &
  PickSelected<
    schema.WorkspaceUser,
    RawWorkspaceUser,
    {
      readonly role: WorkspaceRole;
      readonly workspace: PickSelected<schema.Workspace, RawWorkspaceUser["workspace"]>;
    }
  >;
/** The account-wide user. Its fields lie beyond the interface (documented). */
export type User = { readonly __typename: "User" } & schema.User;
/** Who a token acts as; compare `__typename`. @see interface §2 */
export type Me = WorkspaceUser | User;

const meOperation = defineOperation("Me", MeDocument);

/** Asks who the token of a router acts as. */
export function fetchMe(engine: Engine, router: Router, call: CallOptions | undefined): Call<Me> {
  return startCall(
    engine,
    {
      operation: { ...meOperation, router },
      variables: () => ({}),
      result: ({ me }) => me ?? refuse("nobody"),
    },
    call,
  );
}

/** What hangs off the workspace of `me`, in the answers of the lists. */
interface AboutWorkspace<Workspace> {
  readonly me:
    | { readonly __typename: "User" }
    | { readonly __typename: "WorkspaceUser"; readonly workspace: Workspace }
    | null;
}

/** The workspace that an answer is about. */
export function workspaceIn<Workspace>({ me }: AboutWorkspace<Workspace>): Workspace {
  return me?.__typename === "WorkspaceUser" ? me.workspace : refuse(me?.__typename ?? "nobody");
}

function refuse(got: string): never {
  throw new WorkspaceTasksError(
    "RESPONSE_INVALID",
    `expected the service to answer as a workspace user, got ${got}`,
    { outcome: "rejected" },
  );
}
