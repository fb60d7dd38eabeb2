// One process at a time has a secret issued. It first marks the store (`pending`); others wait until the marker is removed
// or its time is over. So when a process ends while the service issues a secret, the next one has another issued.
//
//   read, list ─► the secret is stored, nothing is pending ─► delete duplicates, update what differs ─► result
//    ▲        └─► mark ─► create or rotate ─► store the secret, remove the marker
//    └─────────────┴── also after a conflict, and after an outcome that is unknown

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { CallScope } from "../call/call-scope.ts";
import { FailureError, failure } from "../call/failure.ts";
import { isWorkspaceTasksError } from "../errors.ts";
import type { CallOptions } from "../options.ts";
import type { GuardedStore } from "../signing-secrets/secret-store.ts";
import {
  addSecret,
  parseSecrets,
  readSigningSecrets,
  type StoredSecrets,
} from "../signing-secrets/signing-secrets.ts";
import type {
  CreateWebhookEndpointInput,
  UpdateWebhookEndpointInput,
  WebhookEndpoint,
  WebhookEndpointSecret,
  WebhookEndpoints,
} from "./webhook-endpoints.ts";

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

/** One call. */
export interface EndpointRun {
  readonly endpoints: WebhookEndpoints;
  readonly store: GuardedStore;
  readonly scope: CallScope;
  readonly clock: Clock;
  /** Tells its markers from those of other calls. */
  readonly id: string;
  readonly call: CallOptions | undefined;
  /** The service was asked for a secret, or to change something. */
  hasChanged?: boolean;
  /** A secret was issued that could not be stored, so another is needed. */
  hasLostSecret?: boolean;
  unknown?: unknown;
}

interface StoredText {
  readonly text: string | null;
  readonly stored: StoredSecrets;
}

// A request ends well before others take its marker for that of a process that has ended.
const issueTimeoutMs = 20_000;
const markerMs = 30_000;
// A marker that lasts longer than a difference of clocks explains was written with a wrong clock.
const markerMsMax = 2 * markerMs;
const pollMs = 250;
const roundsMax = 10;
const gracePeriodSecondsDefault = 86_400;

/** Without the checks of its input. */
export async function ensureEndpoint(
  run: EndpointRun,
  wanted: CreateWebhookEndpointInput,
): Promise<EnsuredEndpoint> {
  const { endpoints } = run;
  return repeat(run, async (current) => {
    const all = await endpoints.list({ limit: 100 }, requestOptions(run)).toArray();
    const { kept, ...rest } = chooseEndpoint(all, wanted, current.stored);
    if (kept && isStored(run, kept, current.stored)) return finish(run, { kept, ...rest, wanted, current });
    await issueSecret(run, { ...current, url: wanted.url }, (call) =>
      kept ? endpoints.rotateSecret(kept.id, {}, call) : endpoints.create(wanted, call),
    );
    return undefined;
  });
}

/** Without the checks of its input. */
export async function rotateEndpointSecret(
  run: EndpointRun,
  gracePeriodSeconds: number = gracePeriodSecondsDefault,
): Promise<StoredEndpoint> {
  return repeat(run, async (current) => {
    const { url, endpointId } = current.stored;
    if (endpointId !== "") {
      return issueSecret(run, { ...current, url, gracePeriodSeconds }, (call) =>
        run.endpoints.rotateSecret(endpointId, { gracePeriodSeconds }, call),
      );
    }
    const message = "secrets: expected a store with an endpoint, got an empty one; call ensureEndpoint first";
    throw new FailureError(failure("ARGUMENT_INVALID", message));
  });
}

async function repeat<Result>(
  run: EndpointRun,
  step: (current: StoredText) => Promise<Result | undefined>,
): Promise<Result> {
  for (let round = 0; round < roundsMax; round += 1) {
    const result = await step(await readSettled(run));
    if (result !== undefined) return result;
  }
  const message = `secrets.write: another process changed the text ${roundsMax} times; expected a store that returns false only then`;
  throw run.unknown ?? new FailureError(failure("SECRET_STORE_CONFLICT", message));
}

/** The text of the store when no other process is having a secret issued. */
async function readSettled({ store, scope, clock, id }: EndpointRun): Promise<StoredText> {
  for (;;) {
    const text = await store.read();
    const stored = parseSecrets(text);
    const remainingMs = (stored.pending?.untilMs ?? 0) - clock.now();
    const isOver = remainingMs <= 0 || remainingMs > markerMsMax;
    if (isOver || stored.pending?.id === id) return { text, stored };
    await scope.sleep(pollMs);
  }
}

interface Issue extends StoredText {
  readonly url: string;
  readonly gracePeriodSeconds?: number | undefined;
}

/** Has a secret issued and stores it. `undefined` when the state has to be read again. */
async function issueSecret(
  run: EndpointRun,
  { text, stored, url, gracePeriodSeconds = gracePeriodSecondsDefault }: Issue,
  send: (call: CallOptions) => Promise<WebhookEndpointSecret>,
): Promise<StoredEndpoint | undefined> {
  const { store, clock, scope, id } = run;
  const pending = { id, untilMs: clock.now() + markerMs };
  const marked = JSON.stringify({ ...stored, pending });
  if (!(await store.replace(marked, text))) {
    await scope.sleep(pollMs);
    return undefined;
  }
  run.hasChanged = true;
  try {
    const { endpoint, signingSecret } = await send(requestOptions(run, issueTimeoutMs));
    const issued = { ...stored, url, endpointId: endpoint.id };
    const next = JSON.stringify(addSecret(issued, signingSecret, gracePeriodSeconds * 1_000, clock.now()));
    run.hasLostSecret = !(await store.replace(next, marked));
    return run.hasLostSecret ? undefined : { endpoint, secrets: readSigningSecrets(next, clock.now()) };
  } catch (error) {
    // Thrown by the store, or by the service after it may have issued a secret: the marker stays.
    if (!isWorkspaceTasksError(error)) throw error;
    run.unknown = error;
    if (error.outcome === "unknown") return undefined;
    await store.replace(JSON.stringify(stored), marked).catch(() => false);
    throw error;
  }
}

const isStored = (
  run: EndpointRun,
  { id }: WebhookEndpoint,
  { endpointId, secrets, pending }: StoredSecrets,
) => endpointId === id && secrets.length > 0 && !pending && !run.hasLostSecret;

interface Choice {
  readonly kept?: WebhookEndpoint | undefined;
  readonly duplicates: readonly WebhookEndpoint[];
  readonly others: readonly WebhookEndpoint[];
}

/** Of equal endpoints the oldest is kept, so that processes which cannot see each other's store choose the same one. */
export function chooseEndpoint(
  all: readonly WebhookEndpoint[],
  wanted: CreateWebhookEndpointInput,
  { url, endpointId }: StoredSecrets,
): Choice {
  // The service may write a URL differently. The stored endpoint is known by its id.
  const isOfUrl = (each: WebhookEndpoint) =>
    hrefOf(each.url) === hrefOf(wanted.url) || (each.id === endpointId && url === wanted.url);
  const candidates = all.filter(isOfUrl).sort(byAge);
  const model =
    candidates.find(({ id }) => id === endpointId) ??
    candidates.find((each) => contentOf(each) === contentOf(wanted)) ??
    candidates[0];
  const isEqual = (each: WebhookEndpoint) => model !== undefined && contentOf(each) === contentOf(model);
  const [kept, ...duplicates] = candidates.filter(isEqual);
  return { kept, duplicates, others: candidates.filter((each) => !isEqual(each)) };
}

const byAge = (a: WebhookEndpoint, b: WebhookEndpoint) =>
  Date.parse(a.createdAt) - Date.parse(b.createdAt) || (a.id < b.id ? -1 : 1);
const contentOf = ({ url, description, eventTypes }: CreateWebhookEndpointInput) =>
  JSON.stringify([hrefOf(url), description ?? "", namesOf(eventTypes)]);
const hrefOf = (url: string) => (URL.canParse(url) ? new URL(url).href : url);
const namesOf = (eventTypes: readonly string[] | null | undefined) =>
  eventTypes ? [...new Set(eventTypes)].sort().join() : null;

interface Finish extends Omit<Choice, "kept"> {
  readonly kept: WebhookEndpoint;
  readonly wanted: CreateWebhookEndpointInput;
  readonly current: StoredText;
}

async function finish(
  run: EndpointRun,
  { kept, duplicates, others, wanted, current }: Finish,
): Promise<EnsuredEndpoint> {
  const { endpoints } = run;
  for (const { id } of duplicates) {
    run.hasChanged = true;
    await endpoints.delete(id, requestOptions(run)).catch((error: unknown) => {
      // Another process has deleted it.
      if (!isWorkspaceTasksError(error, "NOT_FOUND")) throw error;
    });
  }
  const change = differenceOf(kept, wanted);
  run.hasChanged ||= change !== undefined;
  const endpoint = change ? await endpoints.update(kept.id, change, requestOptions(run)) : kept;
  const secrets = readSigningSecrets(current.text, run.clock.now());
  return { endpoint, secrets, changed: run.hasChanged === true, others };
}

function differenceOf(
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

/** A request may take what remains of the call. Sent twice, a secret would be issued twice. */
function requestOptions({ scope, call }: EndpointRun, limitMs = Number.POSITIVE_INFINITY): CallOptions {
  const deadlineMs = Math.max(1, Math.floor(Math.min(scope.remainingMs(), limitMs)));
  return { ...call, deadlineMs, idempotent: undefined };
}
