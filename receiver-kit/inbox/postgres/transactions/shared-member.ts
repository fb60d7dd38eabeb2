// One event in a shared transaction; its states are described in shared-transactions.ts.

import type { Clock } from "../../../../sdk/kernel/clock.ts";
import { deferred } from "../../../../sdk/kernel/deferred.ts";
import { inSeries } from "../../../../sdk/kernel/in-series.ts";
import { isReceiverError, type ReceiverError } from "../../../errors.ts";
import type { InboxClaim, InboxSettlement, InboxSettleOutcome } from "../../inbox.ts";
import { leftShared, transactionEnded } from "../../lazy-transaction.ts";
import { endedBySql } from "../../sql/transaction-control.ts";
import type { PooledClient } from "../connection/bounded-pool.ts";
import { isFromServer } from "../connection/server-errors.ts";
import type { PostgresRow } from "../sql/postgres-pool.ts";
import { FailedStatements } from "./failed-statements.ts";

/** What a handler's transaction does with its event. */
export interface SharedMember {
  /** Waits for the turn of the event at the first call. */
  query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]>;
  /** Its handlers run again, alone. Returns what to throw. */
  evict(why: string): ReceiverError;
  /** `error` is thrown when the event is to be kept. Returns it. */
  fail(error: Error): Error;
  keep(): Promise<InboxSettleOutcome>;
  discard(): Promise<"repeat" | undefined>;
}

interface MemberOptions {
  readonly turnMs: number;
  readonly clock: Clock;
  leave(): void;
}

export class Member implements SharedMember {
  readonly claim: InboxClaim;
  readonly settlement: InboxSettlement;
  readonly failed = new FailedStatements();
  readonly #options: MemberOptions;
  #state: "waiting" | "in-turn" | "kept" | "discarded" | "evicted" = "waiting";
  readonly #turn = deferred<PooledClient>();
  readonly #ended = deferred<void>();
  readonly #settled = deferred<"settled" | "repeat">();
  readonly #inSeries = inSeries();
  #isInFlight = false;
  #isLate = false;
  #mustRepeat = false;
  #failure: Error | undefined;
  hasQueried = false;

  constructor(claim: InboxClaim, settlement: InboxSettlement, options: MemberOptions) {
    this.claim = claim;
    this.settlement = settlement;
    this.#options = options;
    this.#turn.promise.catch(() => {});
    this.#settled.promise.catch(() => {});
  }

  get isKept(): boolean {
    return this.#state === "kept";
  }

  /** Resolves when the turn has ended. */
  async takeTurn(pooled: PooledClient, cancelStatement: () => void): Promise<void> {
    this.#state = "in-turn";
    const { clock, turnMs } = this.#options;
    const endLate = clock.schedule(turnMs, () => this.#onLate());
    // One that began at the end of the turn has as long at the server.
    const cancelLate = clock.schedule(2 * turnMs, () => this.#isInFlight && cancelStatement());
    this.#turn.resolve(pooled);
    await this.#ended.promise;
    endLate();
    cancelLate();
  }

  #onLate(): void {
    this.#isLate = true;
    // The server ends a statement that takes as long.
    if (!this.#isInFlight) this.evict("its turn took too long");
  }

  /** One at a time, also those that a handler calls at once: what fails leaves none behind it at the client. */
  async query(statement: string, values: unknown[] = []): Promise<readonly PostgresRow[]> {
    this.#throwIfEnded();
    const pooled = await this.#turn.promise;
    return this.#inSeries(() => this.#query(pooled, statement, values));
  }

  async #query(pooled: PooledClient, statement: string, values: unknown[]): Promise<readonly PostgresRow[]> {
    this.#throwIfEnded();
    const { client } = pooled;
    if (client.getTransactionStatus?.() === "I") throw this.fail(endedBySql("a COMMIT or ROLLBACK"));
    this.hasQueried = true;
    this.#isInFlight = true;
    try {
      const query = client.query({ text: statement, values, queryMode: "extended" });
      return (await pooled.withinForHandler(query)).rows;
    } catch (error) {
      if (isCausedBySharing(error)) this.#mustRepeat = true;
      throw this.failed.add(statement, error);
    } finally {
      this.#isInFlight = false;
      if (this.#isLate) this.evict("its turn took too long");
    }
  }

  #throwIfEnded(): void {
    if (this.#state === "evicted") throw leftShared("its turn has ended");
    if (this.#state !== "waiting" && this.#state !== "in-turn") throw transactionEnded();
  }

  evict(why: string): ReceiverError {
    if (this.#state === "waiting") this.#options.leave();
    if (this.#state === "waiting" || this.#state === "in-turn") this.#end("evicted");
    return leftShared(why);
  }

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
      if (this.#state !== "evicted") return toOutcome(error);
    }
    if (this.#state === "evicted" || this.#mustRepeat) {
      this.#end("evicted");
      return "repeat";
    }
    this.#end("kept");
    return this.#settled.promise.catch(toOutcome);
  }

  async discard(): Promise<"repeat" | undefined> {
    if (this.#state === "waiting") this.#options.leave();
    const isRepeated = this.#state === "evicted" || this.#mustRepeat;
    this.#end("discarded");
    return isRepeated ? "repeat" : undefined;
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
  repeat(): void {
    this.#mustRepeat = true;
    this.#settled.resolve("repeat");
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

function toOutcome(error: unknown): InboxSettleOutcome {
  if (isReceiverError(error, "LEASE_LOST")) return "lost";
  if (isReceiverError(error, "SUPERSEDED")) return "superseded";
  throw error;
}

/** Deadlocks, serialization failures, statements that were cancelled or waited for a lock; a connection that was lost. */
function isCausedBySharing(error: unknown): boolean {
  if (isReceiverError(error, "INBOX_UNAVAILABLE") || !isFromServer(error)) return true;
  return /^(40|55P03|57)/.test(String((error as { code?: unknown }).code ?? ""));
}
