import * as s from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import { FailureError, failure, toError } from "../call/failure.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Engine, Send } from "../engine/engine.ts";
import { isWorkspaceTasksError } from "../errors.ts";
import type * as generated from "../generated/operations.ts";
import type { WebhookEventCatalogQuery } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import { type CallOptions, checkCallOptions, deadlineMsOf, type ResolvedOptions } from "../options.ts";
import {
  addSecret,
  type GuardedStore,
  guardStore,
  parseSecrets,
  readSigningSecrets,
  type SecretStore,
  type StoredSecrets,
} from "../signing-secrets/signing-secrets.ts";
import { checkInput } from "../validation.ts";
import { createPagedList, itemsIn, type PagedList } from "./pagination.ts";
import { type Override, type PickSelected, workspaceIn } from "./workspaces.ts";

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
type Every<Input> = Readonly<Record<keyof Input, unknown>>;
const listInput = s.strictObject({ limit: s.optional(s.integer), iterator: s.nullish(s.nonEmptyString) });
const endpointFields = {
  url: s.string,
  description: s.nullish(s.string),
  eventTypes: s.nullish(s.array(s.nonEmptyString)),
} satisfies Every<CreateWebhookEndpointInput>;
const createInput = s.strictObject(endpointFields);
const updateInput = s.strictObject({
  ...endpointFields,
  endpointId: s.nonEmptyString,
  url: s.nullish(s.string),
  enabled: s.nullish(s.boolean),
} satisfies Every<generated.UpdateWebhookEndpointInput>);
const gracePeriodSeconds = s.nullish(s.integer);
const rotateSecretInput = s.strictObject({
  endpointId: s.nonEmptyString,
  gracePeriodSeconds,
} satisfies Every<generated.RotateWebhookEndpointSecretInput>);

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

/** An endpoint whose signing secrets are in the caller's store. */
export interface StoredEndpoint {
  readonly endpoint: WebhookEndpoint;
  /** Those that verify now, newest first. */
  readonly secrets: readonly string[];
}

export interface EnsuredEndpoint extends StoredEndpoint {
  /** Whether anything was created, rotated, updated or deleted. */
  readonly changed: boolean;
  /** Endpoints of the same URL with another description or other events. They are left as they are. */
  readonly others: readonly WebhookEndpoint[];
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

const catalog = defineOperation("WebhookEventCatalog", "webhooks.catalog");

const secrets = s.objectWith<SecretStore>("a store with read and write", "read", "write");
const ensureInput = s.strictObject({ ...endpointFields, secrets });
const rotateInput = s.strictObject({ secrets, gracePeriodSeconds });

export function createWebhooks(engine: Engine, options: ResolvedOptions): Webhooks {
  const { send } = engine;
  const endpoints = createWebhookEndpoints(send);

  /** Runs a call of several requests, with one deadline. */
  async function runWith<Result>(
    method: string,
    given: SecretStore,
    callGiven: CallOptions = {},
    work: (run: ReturnType<typeof createEndpointRun>) => Promise<Result>,
  ): Promise<Result> {
    const call = checkCallOptions(method, callGiven);
    const scope = engine.openScope({ signal: call.signal, limitMs: deadlineMsOf(call, options) });
    const run = createEndpointRun(endpoints, guardStore(given, scope), scope, call, options);
    try {
      return await work(run);
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      const outcome = run.hasChanged() ? "unknown" : error.failure.outcome;
      throw toError(
        { ...error.failure, outcome },
        { attempts: 0, operation: { method, name: undefined }, redactor: options.redactor },
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

// One process at a time has a secret issued. It first marks the store (`pending`); others wait until the marker is removed
// or its time is over. So when a process ends while the service issues a secret, the next one has another issued.
//
//   read, list ─► the secret is stored, nothing is pending ─► delete duplicates, update what differs ─► result
//    ▲        └─► mark ─► create or rotate ─► store the secret, remove the marker
//    └─────────────┴── also after a conflict, and after an outcome that is unknown

// A request ends well before others take its marker for that of a process that has ended.
const issueTimeoutMs = 20_000;
const markerMs = 30_000;
// A marker that lasts longer than a difference of clocks explains was written with a wrong clock.
const markerMsMax = 2 * markerMs;
const pollMs = 250;
const roundsMax = 10;
const graceSecondsDefault = 86_400;
/** A secret that the store has lost signs for so long: a program that loses its store at each start must not fill the signatures of a delivery. */
const lostGraceSeconds = 3_600;
const issuesMax = 3;

/** One call of `ensureEndpoint` or `rotateEndpointSecret`, its input checked. */
function createEndpointRun(
  endpoints: WebhookEndpoints,
  store: GuardedStore,
  scope: CallScope,
  call: CallOptions,
  { clock, random }: ResolvedOptions,
) {
  /** Tells its markers from those of others. */
  const id = String(random());
  /** The service was asked for a secret, or to change something. */
  let hasChanged = false;
  /** A secret was or may have been issued that is not stored, so another is needed, whatever others have stored since. */
  let hasLostSecret = false;
  let unknown: Error | undefined;
  /** Secrets that were stored, and are not there when the store is read again. */
  let forgotten = 0;

  /** A request may take what remains of the call. Sent twice, it would issue two secrets. */
  function requestOptions(limitMs = Number.POSITIVE_INFINITY): CallOptions {
    const deadlineMs = Math.max(1, Math.floor(Math.min(scope.remainingMs(), limitMs)));
    return { ...call, deadlineMs, idempotent: undefined };
  }

  /** The text of the store when no other process is having a secret issued. */
  async function readSettled(): Promise<string | null> {
    for (;;) {
      const text = await store.read();
      const { pending } = parseSecrets(text);
      const remainingMs = (pending?.untilMs ?? 0) - clock.now();
      if (remainingMs <= 0 || remainingMs > markerMsMax || pending?.id === id) return text;
      await scope.sleep(pollMs);
    }
  }

  async function repeat<Result>(step: (text: string | null) => Promise<Result | undefined>): Promise<Result> {
    for (let round = 0; round < roundsMax; round += 1) {
      const result = await step(await readSettled());
      if (result !== undefined) return result;
    }
    const message = `secrets.write: another process changed the text ${roundsMax} times; expected a store that returns false only then`;
    throw unknown ?? new FailureError(failure("SECRET_STORE_CONFLICT", message));
  }

  /** Has a secret issued for the endpoint of this URL and stores it. `undefined` when the state has to be read again. */
  async function issue(
    send: (call: CallOptions) => Promise<WebhookEndpointSecret>,
    text: string | null,
    url: string,
    graceSeconds = graceSecondsDefault,
  ): Promise<StoredEndpoint | undefined> {
    const stored = parseSecrets(text);
    const marked = JSON.stringify({ ...stored, pending: { id, untilMs: clock.now() + markerMs } });
    if (!(await store.replace(marked, text))) return scope.sleep(pollMs).then(() => undefined);
    hasChanged = hasLostSecret = true;
    try {
      const { endpoint, signingSecret } = await send(requestOptions(issueTimeoutMs));
      const issued = { ...stored, url, endpointId: endpoint.id };
      const next = JSON.stringify(addSecret(issued, signingSecret, graceSeconds * 1_000, clock.now()));
      hasLostSecret = !(await store.replace(next, marked));
      return hasLostSecret ? undefined : { endpoint, secrets: readSigningSecrets(next, clock.now()) };
    } catch (error) {
      // The store may have failed after the secret was issued: the marker stays.
      if (!isWorkspaceTasksError(error)) throw error;
      unknown = error;
      if (error.outcome === "unknown") return undefined;
      await store.replace(JSON.stringify(stored), marked).catch(() => false);
      throw error;
    }
  }

  async function deleteEndpoint({ id }: WebhookEndpoint): Promise<void> {
    hasChanged = true;
    await endpoints.delete(id, requestOptions()).catch((error: unknown) => {
      // Another process has deleted it.
      if (!isWorkspaceTasksError(error, "NOT_FOUND")) throw error;
    });
  }

  async function update(endpoint: WebhookEndpoint, wanted: CreateWebhookEndpointInput) {
    const change = differenceOf(endpoint, wanted);
    hasChanged ||= change !== undefined;
    return change ? endpoints.update(endpoint.id, change, requestOptions()) : endpoint;
  }

  return {
    hasChanged: () => hasChanged,

    ensure: (wanted: CreateWebhookEndpointInput): Promise<EnsuredEndpoint> =>
      repeat(async (text) => {
        const { endpointId, secrets, pending, url } = parseSecrets(text);
        requireSameUrl(url, wanted.url);
        const all = await endpoints.list({ limit: 100 }, requestOptions()).toArray();
        const { kept, duplicates, others } = chooseEndpoint(all, wanted, { endpointId, url });
        const isStored = endpointId === kept?.id && secrets.length > 0 && !pending && !hasLostSecret;
        if (!kept || !isStored) {
          if (forgotten === issuesMax) throw new FailureError(failure("SECRET_STORE_FAILED", forgets));
          const lost = { gracePeriodSeconds: lostGraceSeconds };
          const send = (call: CallOptions) =>
            kept ? endpoints.rotateSecret(kept.id, lost, call) : endpoints.create(wanted, call);
          if (await issue(send, text, wanted.url)) forgotten += 1;
          return undefined;
        }
        for (const duplicate of duplicates) await deleteEndpoint(duplicate);
        const endpoint = await update(kept, wanted);
        return { endpoint, secrets: readSigningSecrets(text, clock.now()), changed: hasChanged, others };
      }),

    rotate: (gracePeriodSeconds: number | undefined): Promise<StoredEndpoint> =>
      repeat(async (text) => {
        const { endpointId, url } = parseSecrets(text);
        const empty =
          "secrets: expected a store with an endpoint, got an empty one; call ensureEndpoint first";
        if (endpointId === "") throw new FailureError(failure("ARGUMENT_INVALID", empty));
        const send = (call: CallOptions) => endpoints.rotateSecret(endpointId, { gracePeriodSeconds }, call);
        return issue(send, text, url, gracePeriodSeconds);
      }),
  };
}

const forgets = `secrets.read: expected the secret that was written, got a store without it, ${issuesMax} times; each one is issued by the service and signs for an hour`;

interface EndpointChoice {
  readonly kept?: WebhookEndpoint | undefined;
  /** Equal to `kept` in URL, description and events. */
  readonly duplicates: readonly WebhookEndpoint[];
  /** They have the same URL, but are not equal. */
  readonly others: readonly WebhookEndpoint[];
}

/** The oldest of equal endpoints is kept, so that all processes choose the same one. */
export function chooseEndpoint(
  all: readonly WebhookEndpoint[],
  wanted: CreateWebhookEndpointInput,
  stored: Pick<StoredSecrets, "url" | "endpointId">,
): EndpointChoice {
  const isStored = ({ id }: WebhookEndpoint) => id === stored.endpointId;
  // The service may write a URL differently, and the stored endpoint is known by its id.
  const candidates = all
    .filter(
      (each) => hrefOf(each.url) === hrefOf(wanted.url) || (isStored(each) && stored.url === wanted.url),
    )
    .sort(byAge);
  const isAsWanted = (each: WebhookEndpoint) => contentOf(each) === contentOf(wanted);
  const model = candidates.find(isStored) ?? candidates.find(isAsWanted) ?? candidates[0];
  const isEqual = (each: WebhookEndpoint) => model !== undefined && contentOf(each) === contentOf(model);
  const [kept, ...duplicates] = candidates.filter(isEqual);
  return { kept, duplicates, others: candidates.filter((each) => !isEqual(each)) };
}

/** What makes the endpoint the wanted one; `undefined` when it is. */
export function differenceOf(
  { enabled, description, eventTypes }: WebhookEndpoint,
  wanted: CreateWebhookEndpointInput,
): UpdateWebhookEndpointInput | undefined {
  const isDescribed = wanted.description === undefined || (wanted.description ?? "") === description;
  const change = {
    ...(enabled ? {} : { enabled: true }),
    ...(isDescribed ? {} : { description: wanted.description }),
    ...(namesOf(wanted.eventTypes) === namesOf(eventTypes) ? {} : { eventTypes: wanted.eventTypes ?? null }),
  };
  return Object.keys(change).length > 0 ? (change as UpdateWebhookEndpointInput) : undefined;
}

const byAge = (a: WebhookEndpoint, b: WebhookEndpoint) =>
  Date.parse(a.createdAt) - Date.parse(b.createdAt) || (a.id < b.id ? -1 : 1);
const contentOf = ({ url, description, eventTypes }: CreateWebhookEndpointInput) =>
  JSON.stringify([hrefOf(url), description ?? "", namesOf(eventTypes)]);
const hrefOf = (url: string) => (URL.canParse(url) ? new URL(url).href : url);
const namesOf = (eventTypes: readonly string[] | null | undefined) =>
  eventTypes ? [...new Set(eventTypes)].sort().join() : null;

/** Two URLs with one store would take turns in it, and each would have the secret of the other rotated away. */
function requireSameUrl(stored: string, wanted: string): void {
  if (stored === "" || hrefOf(stored) === hrefOf(wanted)) return;
  const message =
    "secrets.read: expected the store of this url, got that of another one; use a store of its own for each url";
  throw new FailureError(failure("SECRET_STORE_FAILED", message));
}
