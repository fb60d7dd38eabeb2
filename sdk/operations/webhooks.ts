import * as s from "@workspace-tasks/kernel/schema.ts";
import { FailureError, toError } from "../call/failure.ts";
import { defineOperation } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Call } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import type { WebhookEventCatalogQuery } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import { type CallOptions, checkCallOptions, deadlineMsDefaults, type ResolvedOptions } from "../options.ts";
import { guardStore, type SecretStore } from "../signing-secrets/signing-secrets.ts";
import { checkInput } from "../validation/check-input.ts";
import type { PickSelected } from "./picked-types.ts";
import {
  createEndpointRun,
  type EndpointRun,
  type EnsuredEndpoint,
  type StoredEndpoint,
} from "./stored-endpoint.ts";
import {
  type CreateWebhookEndpointInput,
  createWebhookEndpoints,
  endpointFields,
  gracePeriodSeconds,
  type RotateWebhookEndpointSecretInput,
  type WebhookEndpoints,
} from "./webhook-endpoints.ts";

/** An entry of the event catalog; `payloadSchema` is a JSON Schema (Draft 7). @see interface §2 */
export interface WebhookEventType
  extends PickSelected<schema.WebhookEventType, WebhookEventCatalogQuery["webhookEventCatalog"][number]> {}

export interface EnsureEndpointInput extends CreateWebhookEndpointInput {
  /** Where the signing secrets are kept: `fileSecrets(path)`, or two functions of your own. One store per URL. */
  readonly secrets: SecretStore;
}
export interface RotateEndpointSecretInput extends RotateWebhookEndpointSecretInput {
  /** The store of `ensureEndpoint`, which knows the endpoint. */
  readonly secrets: SecretStore;
}

/** Where events are delivered, and which there are. @see interface §4 */
export interface Webhooks {
  /** The endpoints that the workspace's events are delivered to. */
  readonly endpoints: WebhookEndpoints;

  /**
   * Makes sure that the URL has one enabled endpoint with these events, and that its signing secret is in the store. Safe
   * to call at every start: idempotent, also when an earlier process was killed, or several start at once.
   *
   * Creates the endpoint, or updates what differs: `eventTypes` (omitted or `null`: all events), `description` when it is
   * given, `enabled: false`. Deletes its duplicates, equal in URL, description and events. If its secret is not in the
   * store, or may have been lost, another is issued, and the old ones verify for 86,400 s. While another process has a
   * secret issued it waits, 30 s at most after that process was killed.
   *
   * Call options apply to each request, `deadlineMs` (default 120,000) and `signal` to the whole; `idempotent` is ignored.
   * Errors: `SECRET_STORE_FAILED` when the store fails, does not respond within 5 s or holds something else,
   * `SECRET_STORE_CONFLICT`, and those of `endpoints.list`, `create`, `update`, `delete` and `rotateSecret`.
   */
  ensureEndpoint(input: EnsureEndpointInput, call?: CallOptions): Promise<EnsuredEndpoint>;

  /**
   * Has another signing secret issued for the endpoint of a store, and stores it before the old one, which verifies for
   * `gracePeriodSeconds` more: 0 to 604,800, default 86,400. With 0 the store has the new one alone.
   *
   * Not idempotent: each call issues a secret, also one more where an outcome was unknown. Waits, options and errors are
   * those of `ensureEndpoint`; besides, `ARGUMENT_INVALID` for an empty store and `SECRET_GRACE_PERIOD_OUT_OF_RANGE`.
   */
  rotateEndpointSecret(input: RotateEndpointSecretInput, call?: CallOptions): Promise<StoredEndpoint>;

  /**
   * Lists every event that the service can deliver, with the JSON Schema of its payload. Public: no key is needed or
   * sent, and the call is not counted against the rate limit.
   */
  catalog(call?: CallOptions): Call<readonly WebhookEventType[]>;
}

export interface WebhooksOptions
  extends Pick<ResolvedOptions, "clock" | "random" | "deadlineMs" | "priority"> {
  readonly redactor: Redactor;
}

const catalog = defineOperation("WebhookEventCatalog", "webhooks.catalog");

const secrets = s.objectWith<SecretStore>("a store with read and write", "read", "write");
const ensureInput = s.strictObject({ ...endpointFields, secrets });
const rotateInput = s.strictObject({ secrets, gracePeriodSeconds });

export function createWebhooks(engine: Engine, options: WebhooksOptions): Webhooks {
  const { send } = engine;
  const { clock, random, redactor } = options;
  const endpoints = createWebhookEndpoints(send);

  /** Runs a call of several requests, with one deadline. */
  async function runWith<Result>(
    method: string,
    given: SecretStore,
    callGiven: CallOptions = {},
    work: (run: EndpointRun) => Promise<Result>,
  ): Promise<Result> {
    const call = checkCallOptions(method, callGiven);
    const priority = call.priority ?? options.priority;
    const limitMs = call.deadlineMs ?? options.deadlineMs ?? deadlineMsDefaults[priority];
    const scope = engine.openScope({ signal: call.signal, limitMs });
    const store = guardStore(given, scope);
    const run = createEndpointRun({ endpoints, store, scope, clock, random, call });
    try {
      return await work(run);
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      const outcome = run.hasChanged() ? "unknown" : error.failure.outcome;
      throw toError(
        { ...error.failure, outcome },
        { attempts: 0, operation: { method, name: undefined }, redactor },
      );
    } finally {
      scope.dispose();
    }
  }

  return {
    endpoints,
    async ensureEndpoint(input, call) {
      const method = "webhooks.ensureEndpoint";
      const { secrets: store, ...wanted } = checkInput(method, ensureInput, input);
      return runWith(method, store, call, (run) => run.ensure(wanted));
    },
    async rotateEndpointSecret(input, call) {
      const method = "webhooks.rotateEndpointSecret";
      const { secrets: store, gracePeriodSeconds: grace } = checkInput(method, rotateInput, input);
      return runWith(method, store, call, (run) => run.rotate(grace ?? undefined));
    },
    catalog: (call) => send(catalog, {}, call),
  };
}
