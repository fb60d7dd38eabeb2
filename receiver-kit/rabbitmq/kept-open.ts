// What is open, or being opened again: a connection, or a queue that is consumed. One loop is the only owner of each retry:
//
//   until it may open ──► open ──► until it ends ──► close ──► pause, longer after each failure ──► until it may open
//
// Each step but the first has a limit, because a broker may stop responding. What `open` began is closed before the pause.

import { type Deferred, deferred } from "@workspace-tasks/kernel/deferred.ts";
import { settledWithin, withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { type BrokerConnectionStats, defaults } from "@workspace-tasks/receiver-kit/parts";
import type { ChannelModel } from "amqplib";
import { type AmqpConnect, explain, isRejection } from "./amqp-client.ts";
import type { IncidentLog } from "./incident-log.ts";
import type { RabbitmqSettings } from "./rabbitmq-options.ts";

export interface KeptSettings extends Pick<RabbitmqSettings, "clock" | "random" | "operationTimeoutMs"> {
  readonly log: IncidentLog;
}

export interface Attempt {
  readonly isEnded: boolean;
  /** Ends it, with a reason where that is a failure of its own. */
  end(reason?: unknown): void;
  /** Called once it has ended, also where it never opened. */
  onEnd(close: () => unknown): void;
}

/** What lasted less than this counts as failed, so that what ends at once is not opened in a loop. */
const stableMs = 1_000;
/** How long the broker may take to say goodbye. */
export const closeMs = 300;

export abstract class KeptOpen<Session, Settings extends KeptSettings> {
  protected readonly settings: Settings;
  /** What is logged, with the cause, while it is not open. */
  protected abstract readonly incident: string;
  protected abstract readonly place: string;
  /** Attempts that follow each other at once, such as one per node. */
  protected readonly attempts: number = 1;
  #running: Promise<void> | undefined;
  #attempt: Attempt | undefined;
  #changed: Deferred<void> = deferred();
  #isStopped = false;
  /** Calls of `start` that wait. */
  #starts = 0;
  #failures = 0;
  session: Session | undefined;
  /** Why it is not open. */
  error: unknown;
  /** Sessions that have ended, but for the last one. */
  lost = 0;
  closedSinceMs: number;
  /** Ends a pause. */
  protected wake = () => {};

  constructor(settings: Settings) {
    this.settings = settings;
    this.closedSinceMs = settings.clock.monotonic();
  }

  /** Names what is opened, for errors. */
  protected abstract readonly name: string;
  /** What it waits for without a limit. */
  protected until?(): Promise<unknown>;
  protected abstract open(attempt: Attempt): Promise<Session>;

  /**
   * Resolves once it is open, or each of the first attempts has failed; it is tried again until `stop`.
   *
   * @throws {ReceiverError} `BROKER_SETUP_INVALID`, `CONFIGURATION_INVALID` when what it asks for is rejected
   */
  async start(): Promise<void> {
    this.#begin();
    this.#starts += 1;
    if (!this.session) await this.#changed.promise;
    this.#starts -= 1;
    if (isRejection(this.error)) throw this.error;
  }

  #begin(): void {
    if (this.#running) return;
    this.closedSinceMs = this.settings.clock.monotonic();
    this.#running = this.#run();
  }

  /** The next session, however long that takes; `undefined` at the end. */
  async next(): Promise<Session | undefined> {
    this.#begin();
    while (!this.session && !this.#isStopped) await this.#changed.promise;
    return this.session;
  }

  /** The session, for which it waits until `waitMs` after the loss of the former one. */
  async soon(waitMs: number): Promise<Session | undefined> {
    const { clock } = this.settings;
    this.#begin();
    const leftMs = this.closedSinceMs + waitMs - clock.monotonic();
    if (!this.session && leftMs > 0) await settledWithin(this.next(), leftMs, clock);
    return this.session;
  }

  /** Ends what is open; it is opened again. */
  fail(reason: unknown): void {
    this.#attempt?.end(reason);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    this.#attempt?.end();
    this.#change();
    if (this.#running) await settledWithin(this.#running, 3 * closeMs, this.settings.clock);
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.error = await this.#openOnce();
      if (this.#isStopped) return;
      // `start` throws it.
      const isThrown = this.#starts > 0 && isRejection(this.error);
      if (this.error !== undefined && !isThrown) this.settings.log.add(this.incident, this.place, this.error);
      if (this.#failures >= this.attempts) this.#change();
      await this.pause(this.#failures - this.attempts);
    }
  }

  /** Resolves with why it ended, or did not open. */
  async #openOnce(): Promise<unknown> {
    const { clock, log, operationTimeoutMs } = this.settings;
    const ended = deferred<never>();
    ended.promise.catch(() => {});
    const closers: (() => unknown)[] = [];
    const attempt = {
      isEnded: false,
      end(reason?: unknown) {
        attempt.isEnded = true;
        ended.reject(reason);
      },
      onEnd: (close: () => unknown) => void (attempt.isEnded ? close() : closers.push(close)),
    };
    this.#attempt = attempt;
    let openedAtMs = Number.POSITIVE_INFINITY;
    let reason: unknown;
    try {
      await Promise.race([this.until?.(), ended.promise]);
      const late = () => new Error(`no response within operationTimeoutMs (${operationTimeoutMs})`);
      const opening = Promise.race([this.open(attempt), ended.promise]);
      this.session = await withTimeout(opening, operationTimeoutMs, clock, late);
      openedAtMs = clock.monotonic();
      this.error = undefined;
      log.end(this.incident, this.place);
      this.#change();
      await ended.promise;
    } catch (error) {
      reason = error;
    }
    attempt.end();
    const nowMs = clock.monotonic();
    this.#failures = nowMs - openedAtMs >= stableMs ? 0 : this.#failures + 1;
    if (this.session) {
      this.session = undefined;
      this.closedSinceMs = nowMs;
      if (!this.#isStopped) this.lost += 1;
    }
    await settledWithin(Promise.allSettled(closers.map(async (close) => close())), 2 * closeMs, clock);
    return explain(this.name, reason);
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = deferred();
  }

  /** Longer after each failure, short after less than none. Processes that lost the same node do not return at one instant. */
  protected pause(failures: number): Promise<void> {
    const { clock, random } = this.settings;
    const { firstMs, maxMs } = defaults.rabbitmq.backoff;
    const longestMs = failures < 0 ? firstMs / 10 : Math.min(maxMs, firstMs * 2 ** Math.min(20, failures));
    return new Promise((resolve) => {
      const cancel = clock.schedule(longestMs * (0.5 + random() / 2), resolve);
      this.wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

export interface ConnectionSettings
  extends KeptSettings,
    Pick<RabbitmqSettings, "urls" | "socketOptions" | "heartbeatSeconds"> {
  readonly connect: AmqpConnect;
}

const blocking = "RabbitMQ is short of memory or disk and reads nothing; free some on its nodes";

/** A connection to a cluster, replaced by one to the next node whenever it is lost, and what `setUp` makes of each. */
export abstract class BrokerConnection<
  Session,
  Settings extends ConnectionSettings = ConnectionSettings,
> extends KeptOpen<Session, Settings> {
  protected readonly incident = "RabbitMQ is unavailable, it is tried again";
  protected override readonly attempts = this.settings.urls.length;
  // Receivers spread over the nodes.
  #next = Math.floor(this.settings.random() * this.attempts);
  #blockedSinceMs: number | undefined;

  #host = "";

  protected abstract setUp(connection: ChannelModel, attempt: Attempt): Promise<Session>;

  protected get name(): string {
    return this.#host;
  }

  get stats(): BrokerConnectionStats {
    const nowMs = this.settings.clock.monotonic();
    return {
      // The host has no password.
      node: this.session ? this.#host : null,
      lost: this.lost,
      unavailableForMs: this.session ? null : nowMs - this.closedSinceMs,
      blockedForMs: this.#blockedSinceMs === undefined ? null : nowMs - this.#blockedSinceMs,
    };
  }

  get isBlocked(): boolean {
    return this.#blockedSinceMs !== undefined;
  }

  protected async open(attempt: Attempt): Promise<Session> {
    const { clock, connect, heartbeatSeconds, log, operationTimeoutMs, socketOptions, urls } = this.settings;
    const { place } = this;
    const url = new URL(urls[this.#next++ % urls.length] as string);
    this.#host = url.host;
    url.searchParams.set("heartbeat", String(heartbeatSeconds));
    const socket = new AbortController();
    let connection: ChannelModel | undefined;
    attempt.onEnd(async () => {
      this.#blockedSinceMs = undefined;
      try {
        if (connection) await settledWithin(connection.close(), closeMs, clock);
      } finally {
        // This also ends a connection that is not open yet, or whose other end is silent.
        socket.abort();
      }
    });
    const fixed = { timeout: operationTimeoutMs, signal: socket.signal };
    connection = await connect(url.href, { noDelay: true, keepAlive: true, ...socketOptions, ...fixed });
    const unblock = () => {
      this.#blockedSinceMs = undefined;
      log.end(blocking, place);
    };
    // One that is still short of them says so again.
    unblock();
    connection.on("error", (error) => attempt.end(error));
    connection.on("close", (error) => attempt.end(error ?? new Error("the connection was closed")));
    connection.on("blocked", () => {
      this.#blockedSinceMs ??= clock.monotonic();
      log.add(blocking, place, url.host);
    });
    connection.on("unblocked", unblock);
    return this.setUp(connection, attempt);
  }
}
