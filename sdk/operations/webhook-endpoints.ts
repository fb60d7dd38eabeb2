import { defineOperation } from "../call/operation.ts";
import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type {
  CreateWebhookEndpointInput,
  RotateWebhookEndpointSecretInput,
  UpdateWebhookEndpointInput,
  WebhookEndpointFieldsFragment,
} from "../generated/operations.ts";
import {
  CreateWebhookEndpointDocument,
  DeleteWebhookEndpointDocument,
  ListWebhookEndpointsDocument,
  RotateWebhookEndpointSecretDocument,
  UpdateWebhookEndpointDocument,
} from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import { checkInput, identifier } from "../validation/check-input.ts";
import { isLoopback } from "../validation/loopback.ts";
import {
  flag,
  list,
  nullish,
  only,
  optional,
  refusedUnless,
  text,
  wholeNumber,
} from "../validation/schema.ts";
import { workspaceIn } from "./me.ts";
import { createPagedList, type PagedList } from "./pagination.ts";
import type { Override, PickSelected } from "./selected.ts";

export type { CreateWebhookEndpointInput, RotateWebhookEndpointSecretInput, UpdateWebhookEndpointInput };

/** A delivery URL and what is sent to it; `eventTypes: null` means all current and future events. @see interface §2 */
export type WebhookEndpoint = PickSelected<schema.WebhookEndpoint, WebhookEndpointFieldsFragment>;
/** An endpoint with the signing secret just issued for it, which no other call ever returns. @see interface §4 */
export type WebhookEndpointSecret = Override<
  schema.WebhookEndpointSecret,
  { readonly endpoint: WebhookEndpoint }
>;

export interface ListWebhookEndpointsOptions {
  /** Endpoints per page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** Continues after the page whose `next` this was. */
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
   * Errors: `WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE` for a `limit` outside 1 to 100, thrown at once;
   * `ITERATOR_INVALID` for a cursor of another list; `PAGINATION_STALLED` when a cursor comes back a second time.
   *
   * @see interface §4
   */
  list(options?: ListWebhookEndpointsOptions, call?: CallOptions): PagedList<WebhookEndpoint, string>;

  /**
   * Registers a delivery URL and returns the signing secret, which is shown here and by `rotateSecret` only.
   *
   * `description` omitted or `null` becomes an empty text; `eventTypes` omitted or `null` means all current and
   * future events. Errors: `WEBHOOK_ENDPOINT_URL_INVALID`, `WEBHOOK_EVENT_TYPE_REQUIRED` for an empty list,
   * `WEBHOOK_EVENT_TYPE_UNSUPPORTED`. Not idempotent: after an error with outcome `unknown`, list before creating again.
   *
   * @see interface §4
   */
  create(input: CreateWebhookEndpointInput, call?: CallOptions): Call<WebhookEndpointSecret>;

  /**
   * Changes the fields given and leaves omitted ones alone; an explicit `null` clears `description` and resets
   * `eventTypes` to all events.
   *
   * Errors: `WEBHOOK_ENDPOINT_FIELD_REQUIRED` when nothing but `endpointId` is given, `WEBHOOK_ENDPOINT_URL_INVALID`,
   * `WEBHOOK_EVENT_TYPE_REQUIRED`, `WEBHOOK_EVENT_TYPE_UNSUPPORTED`, `NOT_FOUND`. Idempotent: sending it again changes
   * nothing more, yet after a failure with outcome `unknown` the SDK leaves that to you.
   *
   * @see interface §4
   */
  update(input: UpdateWebhookEndpointInput, call?: CallOptions): Call<WebhookEndpoint>;

  /**
   * Stops delivery to an endpoint for good, pending retries included. Resolves to `true`.
   *
   * Errors: `NOT_FOUND`, also for an endpoint deleted before.
   *
   * @see interface §4
   */
  delete(endpointId: string, call?: CallOptions): Call<boolean>;

  /**
   * Issues a new signing secret. The old one verifies for `gracePeriodSeconds` more: 0 to 604,800, default 86,400.
   *
   * Errors: `SECRET_GRACE_PERIOD_OUT_OF_RANGE`, `NOT_FOUND`. Not idempotent: each call issues another secret, and
   * the answer of a call with outcome `unknown` is lost with the secret in it, so rotate again.
   *
   * @see interface §4
   */
  rotateSecret(input: RotateWebhookEndpointSecretInput, call?: CallOptions): Call<WebhookEndpointSecret>;
}

const listWebhookEndpointsOperation = defineOperation("ListWebhookEndpoints", ListWebhookEndpointsDocument);
const createWebhookEndpointOperation = defineOperation(
  "CreateWebhookEndpoint",
  CreateWebhookEndpointDocument,
);
const updateWebhookEndpointOperation = defineOperation(
  "UpdateWebhookEndpoint",
  UpdateWebhookEndpointDocument,
);
const deleteWebhookEndpointOperation = defineOperation(
  "DeleteWebhookEndpoint",
  DeleteWebhookEndpointDocument,
);
const rotateWebhookEndpointSecretOperation = defineOperation(
  "RotateWebhookEndpointSecret",
  RotateWebhookEndpointSecretDocument,
);

const deliveryUrl = refusedUnless(
  text,
  (value) => {
    if (!URL.canParse(value)) return false;
    const { protocol, hostname } = new URL(value);
    return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
  },
  "WEBHOOK_ENDPOINT_URL_INVALID",
  "Webhook endpoint url must be an HTTPS URL",
);

const eventTypes = refusedUnless(
  list(identifier),
  (names) => names.length > 0,
  "WEBHOOK_EVENT_TYPE_REQUIRED",
  "At least one webhook event type is required",
);

const createEndpointInput = only({
  url: deliveryUrl,
  description: nullish(text),
  eventTypes: nullish(eventTypes),
});

const updateEndpointInput = refusedUnless(
  only({
    endpointId: identifier,
    url: nullish(deliveryUrl),
    description: nullish(text),
    enabled: nullish(flag),
    eventTypes: nullish(eventTypes),
  }),
  ({ endpointId: _, ...fields }) => Object.values(fields).some((value) => value !== undefined),
  "WEBHOOK_ENDPOINT_FIELD_REQUIRED",
  "At least one endpoint field must be updated",
);

const rotateSecretInput = only({
  endpointId: identifier,
  gracePeriodSeconds: nullish(
    refusedUnless(
      wholeNumber,
      (seconds) => seconds >= 0 && seconds <= 604_800,
      "SECRET_GRACE_PERIOD_OUT_OF_RANGE",
      "Secret grace period must be between 0 and 604800 seconds",
    ),
  ),
});

const listEndpointsInput = only({
  limit: optional(
    refusedUnless(
      wholeNumber,
      (limit) => limit >= 1 && limit <= 100,
      "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE",
      "Webhook endpoint limit must be between 1 and 100",
    ),
  ),
  iterator: nullish(identifier),
});

export function createWebhookEndpoints(engine: Engine): WebhookEndpoints {
  return {
    list(options = {}, call) {
      const { limit, iterator } = checkInput("webhooks.endpoints.list", listEndpointsInput, options);
      return createPagedList<WebhookEndpoint, string>(async (cursor) => {
        const variables = { limit, iterator: cursor };
        const { data, meta } = await engine.executeWithMeta(listWebhookEndpointsOperation, variables, call);
        const page = workspaceIn(data).webhookEndpoints;
        if (!page.done && page.iterator === null) throw endless();
        return { items: page.data, next: page.done ? null : page.iterator, meta };
      }, iterator ?? null);
    },

    create: (input, call) =>
      startCall(
        engine,
        {
          operation: createWebhookEndpointOperation,
          variables: () => ({
            input: checkInput("webhooks.endpoints.create", createEndpointInput, input),
          }),
          result: (data) => data.createWebhookEndpoint,
        },
        call,
      ),

    update: (input, call) =>
      startCall(
        engine,
        {
          operation: updateWebhookEndpointOperation,
          variables: () => ({
            input: checkInput("webhooks.endpoints.update", updateEndpointInput, input),
          }),
          result: (data) => data.updateWebhookEndpoint,
        },
        call,
      ),

    delete: (endpointId, call) =>
      startCall(
        engine,
        {
          operation: deleteWebhookEndpointOperation,
          variables: () => ({
            endpointId: checkInput("webhooks.endpoints.delete", identifier, endpointId),
          }),
          result: (data) => data.deleteWebhookEndpoint,
        },
        call,
      ),

    rotateSecret: (input, call) =>
      startCall(
        engine,
        {
          operation: rotateWebhookEndpointSecretOperation,
          variables: () => ({
            input: checkInput("webhooks.endpoints.rotateSecret", rotateSecretInput, input),
          }),
          result: (data) => data.rotateWebhookEndpointSecret,
        },
        call,
      ),
  };
}

function endless(): WorkspaceTasksError {
  return new WorkspaceTasksError(
    "PAGINATION_STALLED",
    "the service says that more pages follow, but not where",
    {
      outcome: "rejected",
    },
  );
}
