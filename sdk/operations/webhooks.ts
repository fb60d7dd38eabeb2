import { defineOperation } from "../call/operation.ts";
import type { Call, Send } from "../engine/call.ts";
import type { WebhookEventCatalogQuery } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import type { PickSelected } from "./picked-types.ts";
import { createWebhookEndpoints, type WebhookEndpoints } from "./webhook-endpoints.ts";

/** An entry of the event catalog; `payloadSchema` is a JSON Schema (Draft 7). @see interface §2 */
export interface WebhookEventType
  extends PickSelected<schema.WebhookEventType, WebhookEventCatalogQuery["webhookEventCatalog"][number]> {}

export interface Webhooks {
  /** The endpoints that the workspace's events are delivered to. */
  readonly endpoints: WebhookEndpoints;

  /**
   * Lists every event that the service can deliver, with the JSON Schema of its payload. Public: no key is needed or
   * sent, and the call is not counted against the rate limit.
   *
   * @see interface §4
   */
  catalog(call?: CallOptions): Call<readonly WebhookEventType[]>;
}

const catalog = defineOperation("WebhookEventCatalog", "webhooks.catalog");

export function createWebhooks(send: Send, httpHostsAllowed: readonly string[]): Webhooks {
  return {
    endpoints: createWebhookEndpoints(send, httpHostsAllowed),
    catalog: (call) => send(catalog, {}, call),
  };
}
