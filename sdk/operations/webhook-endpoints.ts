import * as s from "@workspace-tasks/kernel/schema.ts";
import { FailureError, failure } from "../call/failure.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Send } from "../engine/call.ts";
import type * as generated from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import { workspaceIn } from "./me.ts";
import { createPagedList, itemsIn, type PagedList } from "./pagination.ts";
import type { Override, PickSelected } from "./picked-types.ts";

export type CreateWebhookEndpointInput = generated.CreateWebhookEndpointInput;

type UpdateFields = Omit<generated.UpdateWebhookEndpointInput, "endpointId">;
/** At least one of the fields. */
export type UpdateWebhookEndpointInput = {
  readonly [Name in keyof UpdateFields]-?: UpdateFields & {
    readonly [Given in Name]-?: Exclude<UpdateFields[Given], undefined>;
  };
}[keyof UpdateFields];
export interface RotateWebhookEndpointSecretInput
  extends Omit<generated.RotateWebhookEndpointSecretInput, "endpointId"> {}

/** A delivery URL and its subscription; `eventTypes: null` means all current and future events. @see interface §2 */
export interface WebhookEndpoint
  extends PickSelected<schema.WebhookEndpoint, generated.WebhookEndpointFieldsFragment> {}
/** An endpoint with the signing secret just issued for it, which no other call ever returns. @see interface §4 */
export interface WebhookEndpointSecret
  extends Override<schema.WebhookEndpointSecret, { readonly endpoint: WebhookEndpoint }> {}

export interface ListWebhookEndpointsOptions {
  /** Endpoints per page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** Continues after the page with this `next`. */
  readonly iterator?: string | null | undefined;
}

/**
 * The webhook endpoints of the workspace. Every call needs an administrator's `read_write` key, otherwise it
 * fails with `PERMISSION_DENIED`.
 *
 * @see interface §4
 */
export interface WebhookEndpoints {
  /**
   * Lists the endpoints, a page at a time, fetched while the list is read.
   *
   * Errors: `WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE` for a `limit` outside 1 to 100; `ITERATOR_INVALID` for a cursor of
   * another list; `PAGINATION_STALLED` when ten pages in a row have no new endpoint.
   */
  list(options?: ListWebhookEndpointsOptions, call?: CallOptions): PagedList<WebhookEndpoint, string>;

  /**
   * Registers a delivery URL and returns the signing secret, which is shown here and by `rotateSecret` only.
   *
   * `description` omitted or `null` becomes an empty string; `eventTypes` omitted or `null` means all current and
   * future events. Errors: `WEBHOOK_ENDPOINT_URL_INVALID`, `WEBHOOK_EVENT_TYPE_REQUIRED` for an empty list,
   * `WEBHOOK_EVENT_TYPE_UNSUPPORTED`. Not idempotent: after an error with outcome `unknown`, list before creating again.
   */
  create(input: CreateWebhookEndpointInput, call?: CallOptions): Call<WebhookEndpointSecret>;

  /**
   * Changes the given fields and keeps omitted ones; an explicit `null` clears `description` and resets
   * `eventTypes` to all events.
   *
   * Errors: `WEBHOOK_ENDPOINT_FIELD_REQUIRED` when no field is given, `WEBHOOK_ENDPOINT_URL_INVALID`,
   * `WEBHOOK_EVENT_TYPE_REQUIRED`, `WEBHOOK_EVENT_TYPE_UNSUPPORTED`, `NOT_FOUND`. Idempotent.
   */
  update(endpointId: string, input: UpdateWebhookEndpointInput, call?: CallOptions): Call<WebhookEndpoint>;

  /**
   * Deletes an endpoint and its pending deliveries. Resolves to `true`.
   *
   * Errors: `NOT_FOUND`, also for an endpoint that was deleted before. Idempotent: when it is repeated because its
   * outcome was unknown, an endpoint that no longer exists was deleted.
   */
  delete(endpointId: string, call?: CallOptions): Call<boolean>;

  /**
   * Issues a new signing secret. The old one stays valid for `gracePeriodSeconds`: 0 to 604,800, default 86,400.
   *
   * Errors: `SECRET_GRACE_PERIOD_OUT_OF_RANGE`, `NOT_FOUND`. Not idempotent: each call issues another secret. After
   * a call with outcome `unknown` its secret is lost, so rotate again.
   */
  rotateSecret(
    endpointId: string,
    input?: RotateWebhookEndpointSecretInput,
    call?: CallOptions,
  ): Call<WebhookEndpointSecret>;
}

const listEndpoints = defineOperation("ListWebhookEndpoints", "webhooks.endpoints.list");
const createEndpoint = defineOperation("CreateWebhookEndpoint", "webhooks.endpoints.create");
const updateEndpoint = defineOperation("UpdateWebhookEndpoint", "webhooks.endpoints.update", {
  idempotent: true,
});
const deleteEndpoint = defineOperation("DeleteWebhookEndpoint", "webhooks.endpoints.delete", {
  idempotent: true,
  dataWhenGone: { deleteWebhookEndpoint: true },
});
const rotateSecret = defineOperation("RotateWebhookEndpointSecret", "webhooks.endpoints.rotateSecret");

// The rules for the values are the service's, which has an error for each of them (interface §7).
const listInput = s.strictObject({ limit: s.optional(s.integer), iterator: s.nullish(s.nonEmptyString) });
export const endpointFields = {
  url: s.string,
  description: s.nullish(s.string),
  eventTypes: s.nullish(s.array(s.nonEmptyString)),
};
const createInput = s.strictObject(endpointFields);
const updateInput = s.strictObject({
  ...endpointFields,
  endpointId: s.nonEmptyString,
  url: s.nullish(s.string),
  enabled: s.nullish(s.boolean),
});
export const gracePeriodSeconds = s.nullish(s.integer);
const rotateSecretInput = s.strictObject({ endpointId: s.nonEmptyString, gracePeriodSeconds });

export function createWebhookEndpoints(send: Send): WebhookEndpoints {
  return {
    list: (options = {}, call) =>
      createPagedList("webhooks.endpoints.list", (check) => {
        const { limit, iterator } = check(listInput, options);
        const fetchPage = async (cursor: string | null) => {
          const { data: page, meta } = await send(listEndpoints, { limit, iterator: cursor }, call, (data) =>
            readPage(workspaceIn(data).webhookEndpoints),
          ).withMeta();
          return { ...page, meta };
        };
        return { start: iterator ?? null, fetchPage };
      }),

    create: (input, call) => send(createEndpoint, (check) => ({ input: check(createInput, input) }), call),

    update: (endpointId, input, call) =>
      send(updateEndpoint, (check) => ({ input: check(updateInput, { ...input, endpointId }) }), call),

    delete: (endpointId, call) =>
      send(deleteEndpoint, (check) => ({ endpointId: check(s.nonEmptyString, endpointId) }), call),

    rotateSecret: (endpointId, input, call) =>
      send(rotateSecret, (check) => ({ input: check(rotateSecretInput, { ...input, endpointId }) }), call),
  };
}

interface RawPage {
  readonly data: readonly WebhookEndpoint[];
  readonly done: boolean;
  readonly iterator: string | null;
}

function readPage({ data, done, iterator }: RawPage) {
  if (done || iterator !== null) return { items: itemsIn(data), next: done ? null : iterator };
  const message = "the service says that more pages follow, but returned no cursor";
  throw new FailureError(failure("PAGINATION_STALLED", message, { outcome: "rejected" }));
}
