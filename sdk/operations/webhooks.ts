import { defineOperation } from "../call/operation.ts";
import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import type { WebhookEventCatalogQuery } from "../generated/operations.ts";
import { WebhookEventCatalogDocument } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import type { PickSelected } from "./selected.ts";
import { createWebhookEndpoints, type WebhookEndpoints } from "./webhook-endpoints.ts";

/** An entry of the event catalog; `payloadSchema` is a JSON Schema (Draft 7). @see interface §2 */
export type WebhookEventType = PickSelected<
  schema.WebhookEventType,
  WebhookEventCatalogQuery["webhookEventCatalog"][number]
>;

export interface Webhooks {
  /** The endpoints that the workspace's events are delivered to. */
  readonly endpoints: WebhookEndpoints;

  /**
   * Lists every event the service can deliver, with the JSON Schema of its payload. Public: no key is needed or
   * sent, and the call is not counted against the allowance.
   *
   * @see interface §4
   */
  catalog(call?: CallOptions): Call<readonly WebhookEventType[]>;
}

const webhookEventCatalogOperation = defineOperation("WebhookEventCatalog", WebhookEventCatalogDocument);

export function createWebhooks(engine: Engine): Webhooks {
  return {
    endpoints: createWebhookEndpoints(engine),
    catalog: (call) =>
      startCall(
        engine,
        {
          operation: webhookEventCatalogOperation,
          variables: () => ({}),
          result: (data) => data.webhookEventCatalog,
        },
        call,
      ),
  };
}
