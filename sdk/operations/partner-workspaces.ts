import { defineOperation } from "../call/operation.ts";
import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import type {
  AddUsersToTheWorkspaceMutationVariables,
  CreateWorkspaceMutation,
  CreateWorkspaceInput as GeneratedInput,
} from "../generated/operations.ts";
import { AddUsersToTheWorkspaceDocument, CreateWorkspaceDocument } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import { checkInput, identifier, nonBlank } from "../validation/check-input.ts";
import { atLeast, filledList, nullish, oneOf, only, plainObject, textSuch } from "../validation/schema.ts";
import type { Override, PickSelected } from "./selected.ts";

/** Size class of a tax firm. @see interface §2 */
export type FirmSize = "xs" | "sm" | "md" | "lg" | "xl";

export type CreateWorkspaceInput = Override<
  GeneratedInput,
  {
    readonly firmSize: FirmSize | null | undefined;
    readonly metadata: Readonly<Record<string, unknown>> | null | undefined;
  }
>;

/** A workspace as its creation returns it; `status` is for example `active`. @see interface §2 */
export type PartnerWorkspace = PickSelected<schema.Workspace, CreateWorkspaceMutation["createWorkspace"]>;
export type AddUsersInput = AddUsersToTheWorkspaceMutationVariables;
/** A user who now belongs to a workspace. Beyond the interface (documented). */
export type AddedUser = schema.AddedUser;

export interface PartnerWorkspaces {
  /**
   * Creates one workspace per tax firm. `displayName` must not be blank.
   *
   * Errors: `PERMISSION_DENIED`, `INPUT_INVALID`. Not idempotent: after an error with outcome `unknown` a second call
   * may create a second workspace, so carry your own reference in `metadata`.
   *
   * @see interface §4
   */
  create(input: CreateWorkspaceInput, call?: CallOptions): Call<PartnerWorkspace>;

  /**
   * Adds users to a workspace at once, without an invitation; an existing account is attached, not duplicated.
   *
   * Errors: `NOT_FOUND`, `PERMISSION_DENIED`, `INPUT_INVALID`. Idempotent. Beyond the interface, which names the
   * operation without its shape (documented).
   *
   * @see interface §4
   */
  addUsers(input: AddUsersInput, call?: CallOptions): Call<readonly AddedUser[]>;
}

const createWorkspaceOperation = defineOperation("CreateWorkspace", CreateWorkspaceDocument);
const addUsersToTheWorkspaceOperation = defineOperation(
  "AddUsersToTheWorkspace",
  AddUsersToTheWorkspaceDocument,
);

const emailAddress = textSuch("an e-mail address", (value) => value.includes("@"), "a string without @");

const createWorkspaceInput = atLeast({
  displayName: nonBlank,
  firmSize: nullish(oneOf("xs", "sm", "md", "lg", "xl")),
  metadata: nullish(plainObject),
});

const addUsersInput = only({ workspaceId: identifier, userEmails: filledList(emailAddress) });

export function createPartnerWorkspaces(engine: Engine): PartnerWorkspaces {
  return {
    create: (input, call) =>
      startCall(
        engine,
        {
          operation: createWorkspaceOperation,
          variables: () => ({
            input: checkInput("partner.workspaces.create", createWorkspaceInput, input),
          }),
          result: (data) => data.createWorkspace,
        },
        call,
      ),

    addUsers: (input, call) =>
      startCall(
        engine,
        {
          operation: addUsersToTheWorkspaceOperation,
          variables: () => checkInput("partner.workspaces.addUsers", addUsersInput, input),
          result: (data) => data.addUsersToTheWorkspace,
        },
        call,
      ),
  };
}
