// One event in a shared transaction; its states are described in shared-transactions.ts.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { inSeries } from "@workspace-tasks/kernel/in-series.ts";
import { isReceiverError, type ReceiverError } from "../../../errors.ts";
import type { InboxClaim, InboxRepeat, InboxSettlement, InboxSettleOutcome } from "../../inbox.ts";
import { leftShared, outcomeOf, transactionEnded } from "../../lazy-transaction.ts";
import { endedBySql } from "../../sql/transaction-control.ts";
import type { PooledClient } from "../connection/bounded-pool.ts";
import { codeOf, isFromServer } from "../connection/server-errors.ts";
import type { PostgresClient, PostgresRow } from "../sql/postgres-pool.ts";
import { FailedStatements, isAborted } from "./failed-statements.ts";

/** Of one member. */
export interface Turn {
  readonly pooled: PooledClient;
  /**
   * Whether the turn before ended with a reset of the session. The statements of this one may be sent before that is known,
   * and fail with it. Never rejects.
   */
  readonly isReset: Promise<boolean>;
  /** The statements of other events may be sent between its own. */
  readonly isInterleaved: boolean;
  /** Whether the transaction can have the statement. */
  admits(statement: string): boolean;
  /** The server's own limit may be switched off. */
  cancelStatement(): void;
}

/** How a member begins. */
export interface MemberStart {
  /** The statement that it waits with for its turn. */
  readonly first?: string | undefined;
  /** No other event has a turn at the same time. */
  readonly isInTurn?: boolean | undefined;
}

interface MemberOptions extends MemberStart {
  readonly turnMs: number;
  readonly clock: Clock;
  /** It is to be learned what its first statement leaves. */
  readonly learns: boolean;
  leave(): void;
}

export class Member {
  readonly claim: InboxClaim;
  readonly settlement: InboxSettlement;
  readonly failed = new FailedStatements();
  readonly #options: MemberOptions;
  #state: "waiting" | "in-turn" | "kept" | "discarded" | "evicted" = "waiting";
  readonly #turn = deferred<Turn>();
  readonly #ended = deferred<void>();
  readonly #undone = deferred<void>();
  readonly #settled = deferred<"settled" | InboxRepeat>();
  readonly #inSeries = inSeries();
  #isInFlight = false;
  #isLate = false;
  #repeat: InboxRepeat | undefined;
  #failure: Error | undefined;
  /** Its statements so far. */
  readonly texts: string[] = [];

  constructor(claim: InboxClaim, settlement: InboxSettlement, options: MemberOptions) {
    this.claim = claim;
    this.settlement = settlement;
    this.#options = options;
    this.#turn.promise.catch(() => {});
    this.#settled.promise.catch(() => {});
  }

  get start(): MemberStart & Pick<MemberOptions, "learns"> {
    return this.#options;
  }

  get hasQueried(): boolean {
    return this.texts.length > 0;
  }

  /** A statement has to do with advisory locks. */
  get namesLocks(): boolean {
    return this.texts.some((text) => /advisory/i.test(text));
  }

  get isKept(): boolean {
    return this.#state === "kept";
  }

  /** Every statement so far has succeeded, and none is in progress. */
  get isFlawless(): boolean {
    return this.failed.isEmpty && !this.#isInFlight;
  }

  /** Resolves when the turn has ended. */
  async takeTurn(turn: Turn): Promise<void> {
    this.#state = "in-turn";
    const { clock, turnMs } = this.#options;
    let cancelTimer = clock.schedule(turnMs, () => {
      // One that began at the end of the turn has as long at the server.
      cancelTimer = clock.schedule(turnMs, () => this.#isInFlight && turn.cancelStatement());
      this.#onLate();
    });
    this.#turn.resolve(turn);
    await this.#ended.promise;
    cancelTimer();
  }

  #onLate(): void {
    this.#isLate = true;
    // The server ends a statement that takes as long.
    if (!this.#isInFlight) this.evict("its turn took too long");
  }

  /**
   * Waits for the turn of the event at the first call. One at a time, also those that a handler calls at once: what fails
   * leaves none behind it at the client.
   */
  async query(statement: string, values: unknown[] = []): Promise<readonly PostgresRow[]> {
    this.#throwIfEnded();
    const turn = await this.#turn.promise;
    return this.#inSeries(() => this.#query(turn, statement, values));
  }

  async #query(turn: Turn, statement: string, values: unknown[]): Promise<readonly PostgresRow[]> {
    this.#throwIfEnded();
    if (turn.pooled.client.getTransactionStatus?.() === "I")
      throw this.fail(endedBySql("a COMMIT or ROLLBACK"));
    if (!turn.admits(statement)) throw this.evict("its statement may leave something in the session");
    this.texts.push(statement);
    this.#isInFlight = true;
    try {
      return await this.#send(turn, statement, values);
    } finally {
      this.#isInFlight = false;
      if (this.#isLate) this.evict("its turn took too long");
    }
  }

  async #send(turn: Turn, text: string, values: unknown[]): Promise<readonly PostgresRow[]> {
    const { pooled, isReset, isInterleaved } = turn;
    try {
      const { rows } = await pooled.withinForHandler(sendSingle(pooled.client, text, values));
      if (await isReset) return rows;
    } catch (error) {
      if (isInterleaved && isAborted(error)) {
        this.#repeat = "repeat_in_turn";
        throw this.evict("a statement of another event failed");
      }
      if (await isReset) {
        if (isCausedBySharing(error)) this.#repeat = "repeat";
        throw this.failed.add(text, error);
      }
    }
    throw this.evict("the turn before it could not be ended");
  }

  #throwIfEnded(): void {
    if (this.#state === "evicted") throw leftShared("its turn has ended");
    if (this.#state !== "waiting" && this.#state !== "in-turn") throw transactionEnded();
  }

  /** Its handlers run again, alone. Returns what to throw. */
  evict(why: string): ReceiverError {
    if (this.#state === "waiting") this.#options.leave();
    if (this.#state === "waiting" || this.#state === "in-turn") this.#end("evicted");
    return leftShared(why);
  }

  /** `error` is thrown when the event is to be kept. Returns it. */
  fail(error: Error): Error {
    this.#failure ??= error;
    return error;
  }

  async keep(): Promise<InboxSettleOutcome> {
    if (this.#failure) throw this.#failure;
    try {
      // A query that the handler did not wait for, or whose error it caught.
      await this.#turn.promise;
    } catch (error) {
      if (this.#state !== "evicted") return outcomeOf(error);
    }
    if (this.#state === "evicted" || this.#repeat) {
      this.#end("evicted");
      return this.#repeat ?? "repeat";
    }
    this.#end("kept");
    return this.#settled.promise.catch(outcomeOf);
  }

  async discard(): Promise<InboxRepeat | undefined> {
    if (this.#state === "waiting") this.#options.leave();
    const isRepeated = this.#state === "evicted";
    const hasTurn = this.#state === "in-turn";
    this.#end("discarded");
    // Only then it is known whether another event may have been the reason.
    if (hasTurn) await this.#undone.promise;
    return this.#repeat ?? (isRepeated ? "repeat" : undefined);
  }

  #end(state: "kept" | "discarded" | "evicted"): void {
    if (this.#state === "waiting") this.#turn.reject(transactionEnded());
    this.#state = state;
    this.#ended.resolve();
  }

  settle(): void {
    this.#settled.resolve("settled");
  }

  /** What it wrote is rolled back. */
  undo(): void {
    this.#undone.resolve();
  }

  /** The same, and its handlers run again. */
  repeat(how: InboxRepeat = "repeat"): void {
    this.#repeat ??= how;
    this.#settled.resolve(this.#repeat);
    this.undo();
  }

  /** Its turn cannot begin. */
  reject(error: unknown): void {
    this.#turn.reject(error);
    this.#end("discarded");
  }

  rejectSettled(error: unknown): void {
    this.#settled.reject(error);
  }
}

/** With values the server rejects a text of several statements anyway, and `pg` takes long to copy an object. */
const sendSingle = (client: PostgresClient, text: string, values: unknown[] | null) =>
  values?.length ? client.query(text, values) : client.query({ text, queryMode: "extended" });

/** Deadlocks, serialization failures, statements that were cancelled or waited for a lock; a connection that was lost. */
function isCausedBySharing(error: unknown): boolean {
  if (isReceiverError(error, "INBOX_UNAVAILABLE") || !isFromServer(error)) return true;
  return /^(40|55P03|57)/.test(codeOf(error));
}
