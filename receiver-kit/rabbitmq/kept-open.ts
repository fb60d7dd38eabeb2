// What is open, or being opened again: a connection, a channel that publishes, a queue that is consumed. One loop is the only
// owner of each retry:
//
//   open ──► until it ends ──► close ──► pause, longer after each failure ──► open
//
// Each step has a limit, because a broker may stop responding. What `open` began is closed before it is opened again.

import { type Deferred, deferred } from "@workspace-tasks/kernel/deferred.ts";
import { settledWithin, withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { defaults } from "@workspace-tasks/receiver-kit/parts";
import { explain, isSetupError } from "./amqp-client.ts";
import type { IncidentLog } from "./incident-log.ts";
import type { RabbitmqSettings } from "./rabbitmq-options.ts";

export interface KeptSettings extends Pick<RabbitmqSettings, "clock" | "random" | "operationTimeoutMs"> {
  readonly log: IncidentLog;
}

export interface Attempt {
  readonly isEnded: boolean;
  /** Ends it, with a reason where that is no failure of its own. */
  end(reason?: unknown): void;
  /** Called once it has ended, also where it never opened. */
  onEnd(close: () => unknown): void;
}

export interface KeptWork<Session, Needed> {
  /** What is logged, with the cause, while it is not open. */
  readonly incident: string;
  readonly place: string;
  /** For errors. */
  name(): string;
  /** What it waits for without a limit; `undefined` at the end. */
  need(): Promise<Needed | undefined>;
  open(attempt: Attempt, needed: Needed): Promise<Session>;
  /** Attempts that follow each other at once, such as one per node. Default 1. */
  readonly attempts?: number;
}

/** What lasted less than this counts as failed, so that what ends at once is not opened in a loop. */
const stableMs = 1_000;
/** How long the broker may take to say goodbye. */
export const closeMs = 500;

export class KeptOpen<Session, Needed = unknown> {
  readonly #settings: KeptSettings;
  readonly #work: KeptWork<Session, Needed>;
  #session: Session | undefined;
  #running: Promise<void> | undefined;
  #attempt: Attempt | undefined;
  #changed: Deferred<void> = deferred();
  #isStopped = false;
  #isPausing = false;
  #failures = 0;
  #starts = 0;
  #wake = () => {};
  /** Why it is not open. */
  error: unknown;
  lost = 0;
  closedSinceMs: number;

  constructor(settings: KeptSettings, work: KeptWork<Session, Needed>) {
    this.#settings = settings;
    this.#work = work;
    this.closedSinceMs = settings.clock.monotonic();
  }

  get session(): Session | undefined {
    return this.#session;
  }

  get state(): "idle" | "connecting" | "waiting" | "ready" | "closed" {
    if (this.#isStopped) return "closed";
    if (this.#session) return "ready";
    if (!this.#running) return "idle";
    return this.#isPausing ? "waiting" : "connecting";
  }

  /**
   * Resolves once it is open, or each of the first attempts has failed; it goes on until `stop`.
   *
   * @throws {ReceiverError} `BROKER_SETUP_INVALID` when the broker rejects what it is asked for
   */
  async start(): Promise<void> {
    this.#starts += 1;
    await this.#tried();
    this.#starts -= 1;
    if (isSetupError(this.error)) throw this.error;
  }

  async #tried(): Promise<void> {
    this.#running ??= this.#run();
    if (this.state === "connecting") await this.#changed.promise;
  }

  /** The session, now or after an attempt in progress, for which it waits up to `waitMs`. */
  async soon(waitMs: number): Promise<Session | undefined> {
    if (!this.#session) await settledWithin(this.#tried(), waitMs, this.#settings.clock);
    return this.#session;
  }

  /** The next session, however long that takes; `undefined` at the end. */
  async next(): Promise<Session | undefined> {
    while (!this.#session && !this.#isStopped) await this.#changed.promise;
    return this.#session;
  }

  /** Ends what is open; it is opened again. */
  fail(reason: unknown): void {
    this.#attempt?.end(reason);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake();
    this.#attempt?.end();
    this.#change();
    if (this.#running) await settledWithin(this.#running, 3 * closeMs, this.#settings.clock);
  }

  async #run(): Promise<void> {
    const { clock, log, random } = this.#settings;
    const { incident, place, attempts = 1 } = this.#work;
    const { firstMs, maxMs } = defaults.rabbitmq.backoff;
    while (!this.#isStopped) {
      this.error = await this.#openOnce();
      if (this.#isStopped) return;
      // `start` throws it.
      const isThrown = this.#starts > 0 && isSetupError(this.error);
      if (this.error !== undefined && !isThrown) log.add(incident, place, this.error);
      const hasTriedAll = this.#failures >= attempts;
      const backoffMs = Math.min(maxMs, firstMs * 2 ** Math.min(20, this.#failures - attempts));
      this.#isPausing = hasTriedAll;
      if (hasTriedAll) this.#change();
      // Processes that lost the same node do not all return at the same instant.
      const delayMs = (hasTriedAll ? backoffMs : firstMs / 10) * (0.5 + random() / 2);
      await new Promise<void>((resolve) => {
        const cancel = clock.schedule(delayMs, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#isPausing = false;
    }
  }

  /** Resolves with why it ended, or did not open. */
  async #openOnce(): Promise<unknown> {
    const { clock, log, operationTimeoutMs } = this.#settings;
    const { incident, place, name, need, open } = this.#work;
    const ended = deferred<unknown>();
    const closers: (() => unknown)[] = [];
    const attempt = {
      isEnded: false,
      end(reason?: unknown) {
        attempt.isEnded = true;
        ended.resolve(reason);
      },
      onEnd: (close: () => unknown) => void (attempt.isEnded ? close() : closers.push(close)),
    };
    this.#attempt = attempt;
    let openedAtMs = Number.POSITIVE_INFINITY;
    let reason: unknown;
    try {
      const early = ended.promise.then((error) => {
        throw error;
      });
      const late = () => new Error(`no response within operationTimeoutMs (${operationTimeoutMs})`);
      const needed = await Promise.race([need(), early]);
      if (needed === undefined) return undefined;
      const opening = Promise.race([open(attempt, needed), early]);
      this.#session = await withTimeout(opening, operationTimeoutMs, clock, late);
      openedAtMs = clock.monotonic();
      this.error = undefined;
      log.end(incident, place);
      this.#change();
      reason = await ended.promise;
      if (!this.#isStopped) this.lost += 1;
    } catch (error) {
      reason = error;
    }
    attempt.end();
    this.#session = undefined;
    this.closedSinceMs = clock.monotonic();
    this.#failures = this.closedSinceMs - openedAtMs >= stableMs ? 0 : this.#failures + 1;
    const closing = Promise.allSettled(closers.map(async (close) => close()));
    await settledWithin(closing, 2 * closeMs, clock);
    return explain(name(), reason);
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = deferred();
  }
}
