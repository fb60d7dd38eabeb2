// One process at a time has a secret issued. It first marks the store (`pending`); others wait until the marker is removed
// or its time is over. So when a process ends while the service issues a secret, the next one has another issued.
//
//   read, list ─► the secret is stored, nothing is pending ─► delete duplicates, update what differs ─► result
//    ▲        └─► mark ─► create or rotate ─► store the secret, remove the marker
//    └─────────────┴── also after a conflict, and after an outcome that is unknown

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Random } from "@workspace-tasks/kernel/random.ts";
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
import { chooseEndpoint, differenceOf } from "./endpoint-choice.ts";
import type {
  CreateWebhookEndpointInput,
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

export interface EndpointRunOptions {
  readonly endpoints: WebhookEndpoints;
  readonly store: GuardedStore;
  readonly scope: CallScope;
  readonly clock: Clock;
  readonly random: Random;
  readonly call: CallOptions;
}

interface Issue {
  readonly stored: StoredSecrets;
  readonly text: string | null;
  /** Of the endpoint that gets the secret; the stored one may have another. */
  readonly url: string;
  readonly gracePeriodSeconds?: number | undefined;
}

// A request ends well before others take its marker for that of a process that has ended.
const issueTimeoutMs = 20_000;
const markerMs = 30_000;
// A marker that lasts longer than a difference of clocks explains was written with a wrong clock.
const markerMsMax = 2 * markerMs;
const pollMs = 250;
const roundsMax = 10;
const gracePeriodSecondsDefault = 86_400;

/** One call of `ensureEndpoint` or `rotateEndpointSecret`, its input checked. */
export class EndpointRun {
  /** The service was asked for a secret, or to change something. */
  hasChanged = false;
  /** A secret was or may have been issued that is not stored, so another is needed, whatever others have stored since. */
  #hasLostSecret = false;
  #unknown: Error | undefined;
  /** Tells its markers from those of others. */
  #id = "";
  readonly #options: EndpointRunOptions;

  constructor(options: EndpointRunOptions) {
    this.#options = options;
  }

  ensure(wanted: CreateWebhookEndpointInput): Promise<EnsuredEndpoint> {
    const { endpoints, clock } = this.#options;
    return this.#repeat(async (stored, text) => {
      const all = await endpoints.list({ limit: 100 }, this.#requestOptions()).toArray();
      const { kept, duplicates, others } = chooseEndpoint(all, wanted, stored);
      if (!kept || !this.#isStored(kept, stored)) {
        const issue = (call: CallOptions) =>
          kept ? endpoints.rotateSecret(kept.id, {}, call) : endpoints.create(wanted, call);
        await this.#issue(issue, { stored, text, url: wanted.url });
        return undefined;
      }
      const change = differenceOf(kept, wanted);
      this.hasChanged ||= duplicates.length > 0 || change !== undefined;
      for (const { id } of duplicates) await this.#delete(id);
      const endpoint = change ? await endpoints.update(kept.id, change, this.#requestOptions()) : kept;
      const secrets = readSigningSecrets(text, clock.now());
      return { endpoint, secrets, changed: this.hasChanged, others };
    });
  }

  rotate(gracePeriodSeconds: number = gracePeriodSecondsDefault): Promise<StoredEndpoint> {
    return this.#repeat(async (stored, text) => {
      if (stored.endpointId === "") {
        const message = "secrets: expected a store with an endpoint, got an empty one";
        throw new FailureError(failure("ARGUMENT_INVALID", `${message}; call ensureEndpoint first`));
      }
      const issue = (call: CallOptions) =>
        this.#options.endpoints.rotateSecret(stored.endpointId, { gracePeriodSeconds }, call);
      return this.#issue(issue, { stored, text, url: stored.url, gracePeriodSeconds });
    });
  }

  async #repeat<Result>(
    step: (stored: StoredSecrets, text: string | null) => Promise<Result | undefined>,
  ): Promise<Result> {
    this.#id = String(this.#options.random());
    for (let round = 0; round < roundsMax; round += 1) {
      const text = await this.#readSettled();
      const result = await step(parseSecrets(text), text);
      if (result !== undefined) return result;
    }
    const message = `secrets.write: another process changed the text ${roundsMax} times; expected a store that returns false only then`;
    throw this.#unknown ?? new FailureError(failure("SECRET_STORE_CONFLICT", message));
  }

  /** The text of the store when no other process is having a secret issued. */
  async #readSettled(): Promise<string | null> {
    const { store, scope, clock } = this.#options;
    for (;;) {
      const text = await store.read();
      const { pending } = parseSecrets(text);
      const remainingMs = (pending?.untilMs ?? 0) - clock.now();
      if (remainingMs <= 0 || remainingMs > markerMsMax || pending?.id === this.#id) return text;
      await scope.sleep(pollMs);
    }
  }

  #isStored({ id }: WebhookEndpoint, { endpointId, secrets, pending }: StoredSecrets): boolean {
    return endpointId === id && secrets.length > 0 && !pending && !this.#hasLostSecret;
  }

  /** Has a secret issued and stores it. `undefined` when the state has to be read again. */
  async #issue(
    send: (call: CallOptions) => Promise<WebhookEndpointSecret>,
    { stored, text, url, gracePeriodSeconds = gracePeriodSecondsDefault }: Issue,
  ): Promise<StoredEndpoint | undefined> {
    const { store, clock, scope } = this.#options;
    const pending = { id: this.#id, untilMs: clock.now() + markerMs };
    const marked = JSON.stringify({ ...stored, pending });
    if (!(await store.replace(marked, text))) {
      await scope.sleep(pollMs);
      return undefined;
    }
    this.hasChanged = true;
    this.#hasLostSecret = true;
    try {
      const { endpoint, signingSecret } = await send(this.#requestOptions(issueTimeoutMs));
      const issued = { ...stored, url, endpointId: endpoint.id };
      const next = JSON.stringify(addSecret(issued, signingSecret, gracePeriodSeconds * 1_000, clock.now()));
      this.#hasLostSecret = !(await store.replace(next, marked));
      return this.#hasLostSecret ? undefined : { endpoint, secrets: readSigningSecrets(next, clock.now()) };
    } catch (error) {
      // Of the store, which may have failed after the secret was issued: the marker stays.
      if (!isWorkspaceTasksError(error)) throw error;
      this.#unknown = error;
      if (error.outcome === "unknown") return undefined;
      await store.replace(JSON.stringify(stored), marked).catch(() => false);
      throw error;
    }
  }

  async #delete(id: string): Promise<void> {
    try {
      await this.#options.endpoints.delete(id, this.#requestOptions());
    } catch (error) {
      // Another process has deleted it.
      if (!isWorkspaceTasksError(error, "NOT_FOUND")) throw error;
    }
  }

  /** A request may take what remains of the call. Sent twice, it would issue two secrets. */
  #requestOptions(limitMs = Number.POSITIVE_INFINITY): CallOptions {
    const { call, scope } = this.#options;
    const deadlineMs = Math.max(1, Math.floor(Math.min(scope.remainingMs(), limitMs)));
    return { ...call, deadlineMs, idempotent: undefined };
  }
}
