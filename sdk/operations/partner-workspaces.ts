import * as s from "@workspace-tasks/kernel/schema.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Send } from "../engine/call.ts";
import type * as generated from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import type { Override, PickSelected } from "./picked-types.ts";

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
