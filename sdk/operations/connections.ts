import * as s from "@workspace-tasks/kernel/schema.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Send } from "../engine/call.ts";
import type * as generated from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { OpenUnion } from "../open-union.ts";
import type { CallOptions } from "../options.ts";
import type { PickSelected } from "./picked-types.ts";

export interface StartConnectionInput
  extends Omit<generated.StartProviderConnectionMutationVariables, "inputs"> {
  /** The credentials of the partner's platform; `{}` for a platform that needs none. */
  readonly inputs: Readonly<Record<string, unknown>>;
}
export interface CollectConnectionInput
  extends Omit<generated.CollectProviderConnectionMutationVariables, "connectionId"> {}

/** `pending`, then `active`; otherwise an error state such as `failed` or `disconnected`. An open set. @see interface §3 */
export type ProviderConnectionStatus = OpenUnion<"pending" | "active" | "failed" | "disconnected">;
/** A link between a workspace and a partner's platform. @see interface §2 */
export interface ProviderConnection
  extends PickSelected<
    schema.ProviderConnection,
    generated.ProviderConnectionFieldsFragment,
    { readonly status: ProviderConnectionStatus }
  > {}

/** Links between a workspace and a partner's platform. @see interface §4 */
export interface Connections {
  /**
   * Starts a connection with the credentials of the partner's platform; it is `pending` until it is collected.
   *
   * `inputs` usually holds `apiKey`, `securityToken` and `baseUrl`. Errors: `NOT_FOUND` for an unknown workspace,
   * `PERMISSION_DENIED`. Not idempotent. Beyond the interface, which names the operation without its shape (documented).
   */
  start(input: StartConnectionInput, call?: CallOptions): Call<ProviderConnection>;

  /**
   * Makes the service test the credentials of the start step against the partner's platform.
   *
   * The result is in `status`, and is not an error: `active`, or an error state. `inputs` is stored and returned as
   * `settings`. Errors: `NOT_FOUND`, `PERMISSION_DENIED`. Idempotent, except that the platform is contacted again.
   */
  collect(connectionId: string, input?: CollectConnectionInput, call?: CallOptions): Call<ProviderConnection>;
}

const startConnection = defineOperation("StartProviderConnection", "partner.connections.start");
const collectConnection = defineOperation("CollectProviderConnection", "partner.connections.collect", {
  idempotent: true,
});

const startInput = s.strictObject({
  workspaceId: s.nonEmptyString,
  providerKey: s.nonEmptyString,
  inputs: s.plainObject,
});
const collectInput = s.strictObject({ connectionId: s.nonEmptyString, inputs: s.anything });

export function createConnections(send: Send): Connections {
  return {
    start: (input, call) => send(startConnection, (check) => check(startInput, input), call),

    collect: (connectionId, input, call) =>
      send(collectConnection, (check) => check(collectInput, { ...input, connectionId }), call),
  };
}
