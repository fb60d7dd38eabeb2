import { defineOperation } from "../call/operation.ts";
import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import type {
  CollectProviderConnectionMutationVariables,
  ProviderConnectionFieldsFragment,
  StartProviderConnectionMutationVariables,
} from "../generated/operations.ts";
import {
  CollectProviderConnectionDocument,
  StartProviderConnectionDocument,
} from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { OpenUnion } from "../open-union.ts";
import type { CallOptions } from "../options.ts";
import { checkInput, identifier } from "../validation/check-input.ts";
import { anything, only } from "../validation/schema.ts";
import type { PickSelected } from "./selected.ts";

/** `pending`, then `active`; otherwise an error state such as `failed` or `disconnected`. An open set. @see interface §3 */
export type ProviderConnectionStatus = OpenUnion<"pending" | "active" | "failed" | "disconnected">;
/** A link between a workspace and a partner's platform. @see interface §2 */
export type ProviderConnection = PickSelected<
  schema.ProviderConnection,
  ProviderConnectionFieldsFragment,
  { readonly status: ProviderConnectionStatus }
>;
export type StartConnectionInput = StartProviderConnectionMutationVariables;
export type CollectConnectionInput = CollectProviderConnectionMutationVariables;

export interface Connections {
  /**
   * Begins a connection with the credentials of the partner's platform; it is `pending` until it is collected.
   *
   * `inputs` commonly holds `apiKey`, `securityToken` and `baseUrl`. Errors: `NOT_FOUND` for an unknown workspace,
   * `PERMISSION_DENIED`. Not idempotent. Beyond the interface, which names the operation without its shape (documented).
   *
   * @see interface §4
   */
  start(input: StartConnectionInput, call?: CallOptions): Call<ProviderConnection>;

  /**
   * Has the service test the credentials of the start step against the partner's platform.
   *
   * The result is in `status`, and is not an error: `active`, or an error state. `inputs` is stored and echoed as
   * `settings`. Errors: `NOT_FOUND`, `PERMISSION_DENIED`. Idempotent, except that the platform is asked again.
   *
   * @see interface §4
   */
  collect(input: CollectConnectionInput, call?: CallOptions): Call<ProviderConnection>;
}

const startProviderConnectionOperation = defineOperation(
  "StartProviderConnection",
  StartProviderConnectionDocument,
);
const collectProviderConnectionOperation = defineOperation(
  "CollectProviderConnection",
  CollectProviderConnectionDocument,
);

const startConnectionInput = only({
  workspaceId: identifier,
  providerKey: identifier,
  inputs: anything,
});

const collectConnectionInput = only({ connectionId: identifier, inputs: anything });

export function createConnections(engine: Engine): Connections {
  return {
    start: (input, call) =>
      startCall(
        engine,
        {
          operation: startProviderConnectionOperation,
          variables: () => checkInput("partner.connections.start", startConnectionInput, input),
          result: (data) => data.startProviderConnection,
        },
        call,
      ),

    collect: (input, call) =>
      startCall(
        engine,
        {
          operation: collectProviderConnectionOperation,
          variables: () => checkInput("partner.connections.collect", collectConnectionInput, input),
          result: (data) => data.collectProviderConnection,
        },
        call,
      ),
  };
}
