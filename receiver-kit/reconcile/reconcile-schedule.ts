// Reconciles at the start of a receiver and then regularly, in one process of an inbox at a time.
//
// ROUND. Every process looks whether one is due: the marks say when the last one began and when the last one succeeded. The
// first look comes within seconds, later ones when the next round is due, each a little later at random.
//
// TURN. A head of the receiver's source that is no task's is the lock: the process that advances it by one has the turn, and advances it
// while the round lasts. It is over when the head has not moved for `turnMs`. Two rounds at once would do no harm but cost twice
// the requests.
//
// A client is code of others: each of its answers has a time limit, and none is waited for once the receiver closes.

import * as s from "@workspace-tasks/kernel/schema.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { inBackground } from "../background.ts";
import { ReceiverError } from "../errors.ts";
import { isReconcileClient, type ReconcileClient } from "../event/reconcile-client.ts";
import { parseOptions } from "../options.ts";
import type { ReceiverSettings, TenantClient } from "../receiver-options.ts";
import type { ReconcileOptions } from "./reconcile.ts";

type Settings = Pick<ReceiverSettings, "inbox" | "source" | "clock" | "random" | "logger" | "reconcile"> & {
  /** Opens the inbox, once; called again after it failed. */
  readonly open: () => Promise<void>;
  readonly run: (client: ReconcileClient, options: ReconcileOptions) => Promise<unknown>;
};

export class ReconcileSchedule {
  /** Rounds of this process that failed, those for one tenant included. */
  failed = 0;
  readonly #settings: Settings;
  /** When the last round of any process succeeded as far as this one knows, else when it started. */
  #succeededAtMs: number | undefined;
  #generation = 0;
  #stopped: AbortController | undefined;
  #cancel = () => {};
  #round: Promise<void> = Promise.resolve();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Time since the last round of any process that succeeded, or since the start; `null` where there is no schedule. */
  get succeededAgoMs(): number | null {
    return this.#succeededAtMs === undefined ? null : this.#settings.clock.monotonic() - this.#succeededAtMs;
  }

  start(): void {
    const { reconcile, clock, random } = this.#settings;
    if (!reconcile || this.#stopped) return;
    this.#stopped = new AbortController();
    this.#succeededAtMs = clock.monotonic();
    this.#schedule(random() * Math.min(reconcile.everyMs, firstDelayMsMax));
  }

  #schedule(delayMs: number): void {
    if (this.#stopped?.signal.aborted) return;
    const look = () => {
      this.#round = inBackground(() => this.#look()).then((againMs) => this.#schedule(againMs));
    };
    this.#cancel = this.#settings.clock.schedule(delayMs, look, { background: true });
  }

  /** Returns when to look again. Never rejects. */
  async #look(): Promise<number> {
    const { logger, source, random, reconcile } = this.#settings;
    const everyMs = reconcile?.everyMs ?? 0;
    const laterMs = random() * everyMs * jitter;
    try {
      return (await this.#runIfDue(everyMs)) + laterMs;
    } catch (err) {
      if (!this.#stopped?.signal.aborted) {
        this.failed += 1;
        logger.warn({ source, err }, "reconciling failed; it is tried again in the next round");
      }
      return everyMs + laterMs;
    }
  }

  async #runIfDue(everyMs: number): Promise<number> {
    const { inbox, source, open, clock } = this.#settings;
    await open();
    const { nowMs, marks } = await inbox.readMarks(source);
    const succeededAgoMs = nowMs - Number(marks[mark.succeeded]);
    if (succeededAgoMs >= 0)
      this.#succeededAtMs = Math.max(this.#succeededAtMs ?? 0, clock.monotonic() - succeededAgoMs);
    const begunAgoMs = nowMs - Number(marks[mark.begun]);
    if (begunAgoMs >= 0 && begunAgoMs < everyMs) return everyMs - begunAgoMs;
    const turnMs = Math.min(turnMsMax, Math.max(turnMsMin, everyMs));
    if (!(await this.#takeTurn(turnMs))) return Math.min(turnMs, everyMs);
    await inbox.writeMarks(source, { [mark.begun]: String(nowMs) });
    const failedBefore = this.failed;
    await this.#inTurn(turnMs, (signal) => this.#runAll(signal));
    if (this.failed > failedBefore) return everyMs;
    this.#succeededAtMs = clock.monotonic();
    const { nowMs: endedAtMs } = await inbox.readMarks(source);
    await inbox.writeMarks(source, { [mark.succeeded]: String(endedAtMs) });
    return Math.max(0, everyMs - (endedAtMs - nowMs));
  }

  async #takeTurn(turnMs: number): Promise<boolean> {
    const { inbox, source } = this.#settings;
    const head = await inbox.head(source, turnKey);
    const generation = Number(head?.position ?? 0);
    // Negative when the clock was set back since.
    const isHeld = head !== undefined && Math.abs(head.unchangedMs) < turnMs;
    if (isHeld && generation !== this.#generation) return false;
    return this.#advance(generation + 1);
  }

  async #advance(generation: number): Promise<boolean> {
    const { inbox, source } = this.#settings;
    const position = String(generation).padStart(positionDigits, "0");
    const isMine = (await inbox.advanceHead({ source, key: turnKey, position })) === "newer";
    if (isMine) this.#generation = generation;
    return isMine;
  }

  /** Runs a round while this process has the turn. */
  async #inTurn(turnMs: number, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock } = this.#settings;
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, ...(this.#stopped ? [this.#stopped.signal] : [])]);
    let cancel = () => {};
    let heldAtMs = clock.monotonic();
    const renew = () => {
      cancel = clock.schedule(
        turnMs / 3,
        async () => {
          const sentMs = clock.monotonic();
          // What fails is tried again until the turn is over.
          const isMine = await this.#advance(this.#generation + 1).catch(() => undefined);
          if (isMine) heldAtMs = sentMs;
          if (isMine === false || clock.monotonic() - heldAtMs >= turnMs) lost.abort();
          if (!signal.aborted) renew();
        },
        { background: true },
      );
    };
    renew();
    try {
      await run(signal);
    } finally {
      // The timer of a renewal that is in progress sees it.
      lost.abort();
      cancel();
    }
  }

  async #runAll(signal: AbortSignal): Promise<void> {
    const { reconcile, run, logger, source } = this.#settings;
    if (!reconcile) return;
    const { client, everyMs: runningForMs } = reconcile;
    const within = <Value>(pending: PromiseLike<Value>) => this.#answer(pending, signal);
    if (typeof client !== "function") return void (await run(endable(client, within), { runningForMs }));
    const option = "createReceiver: reconcile.client";
    const tenants = parseOptions(option, tenantList, await within(Promise.resolve().then(client)));
    for (const given of tenants) {
      if (signal.aborted) throw roundEnded();
      try {
        const { tenant, client: own } = parseOptions(option, tenantClient, given);
        await run(endable(own, within), { runningForMs, tenant });
      } catch (err) {
        if (signal.aborted) throw err;
        this.failed += 1;
        logger.warn(
          { source, tenant: given?.tenant?.id, err },
          "reconciling of a tenant failed; it is tried again in the next round",
        );
      }
    }
  }

  /** Waits for code of others: a limited time, and no longer than the round. */
  #answer<Value>(pending: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
    const answered = new Promise<Value>((resolve, reject) => {
      const end = () => reject(roundEnded());
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
      const forget = () => signal.removeEventListener("abort", end);
      pending.then(resolve, reject).then(forget, forget);
    });
    const late = () =>
      new ReceiverError("INBOX_UNAVAILABLE", `reconcile: the client did not answer within ${answerMsMax} ms`);
    return withTimeout(answered, answerMsMax, this.#settings.clock, late);
  }

  /** Ends the round in progress. */
  async stop(): Promise<void> {
    this.#stopped ??= new AbortController();
    this.#stopped.abort();
    this.#cancel();
    await this.#round;
  }
}

const tenantList = s.refine<Iterable<TenantClient | null | undefined>>(
  "its function to return a list of { tenant, client }",
  (given) =>
    typeof (given as Partial<Iterable<unknown>> | null | undefined)?.[Symbol.iterator] === "function",
);

const tenantClient = s.refine<TenantClient>("a list of { tenant, client }", (given) =>
  isReconcileClient((given as TenantClient | null | undefined)?.client),
);

/** A client each of whose answers is waited for with `within`. */
function endable(
  client: ReconcileClient,
  within: <Value>(pending: PromiseLike<Value>) => Promise<Value>,
): ReconcileClient {
  return {
    tasks: {
      async *list(options) {
        const tasks = client.tasks.list(options)[Symbol.asyncIterator]();
        try {
          for (;;) {
            const next = await within(tasks.next());
            if (next.done === true) return;
            yield next.value;
          }
        } finally {
          Promise.resolve(tasks.return?.()).catch(() => {});
        }
      },
    },
    ...(client.me && { me: () => within(Promise.resolve(client.me?.())) }),
  };
}

/** It is not reported when the receiver closes. */
const roundEnded = () =>
  new ReceiverError(
    "LEASE_LOST",
    "reconcile: the round was ended, because this process was halted or its inbox did not respond: another process may have the turn",
  );

/** The key of a row of the receiver's source; no task has it, because keys of tasks are lists. */
const turnKey = "reconcile";
const positionDigits = 15;
const mark = { begun: "reconcile-begun", succeeded: "reconcile-succeeded" } as const;
const firstDelayMsMax = 5_000;
const jitter = 0.1;
const turnMsMin = 3_000;
const turnMsMax = 60_000;
/** Longer than a request waits for the rate limit. */
const answerMsMax = 600_000;
