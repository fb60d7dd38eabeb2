// One event in a shared transaction; its states are described in shared-transactions.ts.

import type { Clock } from "../../clock.ts";
import { deferred } from "../../deferred.ts";
import { isReceiverError, ReceiverError } from "../../errors.ts";
import type { InboxClaim, InboxSettlement, InboxSettleOutcome } from "../inbox.ts";
import { transactionEnded } from "../lazy-transaction.ts";
import { endedBySql, isSavepointStatement } from "../transaction-control.ts";
import type { PooledClient } from "./bounded-pool.ts";
import type { PostgresRow } from "./postgres-pool.ts";
import { queryAfter } from "./query-after.ts";
import { isFromServer } from "./server-errors.ts";

/** What a handler's transaction does with its event. */
export interface SharedMember {
  /** Waits for the turn of the event at the first call. */
  query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]>;
  /** Its handlers run again, alone, and those of later events of its name for a while. Returns what to throw. */
  evict(why: string): ReceiverError;
  /** `error` is thrown when the event is to be kept. Returns it. */
  fail(error: Error): Error;
  keep(): Promise<InboxSettleOutcome>;
  discard(): Promise<"repeat" | undefined>;
}

interface HandlerStatement {
  readonly text: string;
  readonly values: readonly unknown[] | undefined;
}

interface MemberOptions {
  readonly turnMs: number;
  readonly clock: Clock;
  leave(): void;
  onEvicted(): void;
  /** It executes more than one statement. */
  onMore(): void;
}

export class Member implements SharedMember {
  readonly claim: InboxClaim;
  readonly settlement: InboxSettlement;
  readonly #options: MemberOptions;
  #state: "waiting" | "in-turn" | "kept" | "discarded" | "evicted" = "waiting";
  readonly #turn = deferred<PooledClient>();
  readonly #ended = deferred<void>();
  readonly #settled = deferred<"settled" | "repeat">();
  #cancelTurn = () => {};
  /** Statements that are sent before its first one. */
  #before: readonly string[] = [];
  #inFlight = 0;
  #isLate = false;
  #mustRepeat = false;
  #failure: Error | undefined;
  /** What its handler waits for; it can be executed before the turn. */
  #first: HandlerStatement | undefined;
  #firstRows: readonly PostgresRow[] | undefined;
  #hasMore = false;
  /** Its first statement is executed in its turn only. */
  isSingle = false;
  hasFailed = false;
  hasQueried = false;
  /** It executed a statement after the first one, which had been executed before its turn. */
  hasContinued = false;

  constructor(claim: InboxClaim, settlement: InboxSettlement, options: MemberOptions) {
    this.claim = claim;
    this.settlement = settlement;
    this.#options = options;
    this.#turn.promise.catch(() => {});
    this.#settled.promise.catch(() => {});
  }

  get isWaiting(): boolean {
    return this.#state === "waiting";
  }

  get isKept(): boolean {
    return this.#state === "kept";
  }

  /** Undefined where the statement cannot be executed before the turn of the event. */
  get first(): HandlerStatement | undefined {
    return this.isSingle ? undefined : this.#first;
  }

  /** Its handler is known to execute another statement after the first one. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Resolves when the turn has ended. With `rows` its first statement was executed. */
  async takeTurn(
    pooled: PooledClient,
    before: readonly string[],
    rows?: readonly PostgresRow[],
  ): Promise<void> {
    if (this.#state !== "waiting") return;
    this.#before = before;
    this.#firstRows = rows;
    if (rows) this.hasQueried = true;
    this.#state = "in-turn";
    this.#cancelTurn = this.#options.clock.schedule(this.#options.turnMs, () => this.#onLate());
    this.#turn.resolve(pooled);
    await this.#ended.promise;
    this.#cancelTurn();
  }

  #onLate(): void {
    this.#isLate = true;
    // The server ends a statement that takes as long.
    if (this.#inFlight === 0) this.evict("its turn took too long");
  }

  async query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]> {
    this.#throwIfEnded();
    const isFirst = this.isWaiting && !this.#first && !this.#hasMore;
    if (isFirst && isRepeatable(statement, values)) this.#first = { text: statement, values };
    else this.#expectMore();
    const pooled = await this.#turn.promise;
    this.#throwIfEnded();
    if (isFirst && this.#firstRows) return this.#firstRows;
    const { client } = pooled;
    if (client.getTransactionStatus?.() === "I") throw this.fail(endedBySql("a COMMIT or ROLLBACK"));
    const before = this.#before;
    this.#before = [];
    this.hasQueried = true;
    this.hasContinued = this.#firstRows !== undefined;
    this.#inFlight += 1;
    try {
      return (await pooled.withinForHandler(queryAfter(client, before, statement, values))).rows;
    } catch (error) {
      this.hasFailed = true;
      if (isCausedBySharing(error) || (before.length > 0 && isWithoutSavepoint(error)))
        this.#mustRepeat = true;
      throw error;
    } finally {
      this.#inFlight -= 1;
      if (this.#isLate && this.#inFlight === 0) this.evict("its turn took too long");
    }
  }

  #expectMore(): void {
    this.#hasMore = true;
    this.#options.onMore();
  }

  #throwIfEnded(): void {
    if (this.#state === "evicted") throw evicted("its handlers run again");
    if (this.#state !== "waiting" && this.#state !== "in-turn") throw transactionEnded();
  }

  evict(why: string): ReceiverError {
    if (this.#state === "waiting") this.#options.leave();
    if (this.#state === "waiting" || this.#state === "in-turn") {
      this.#end("evicted");
      this.#options.onEvicted();
    }
    return evicted(why);
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
      return toOutcome(error);
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
    this.#cancelTurn();
    this.#ended.resolve();
  }

  settle(): void {
    this.#settled.resolve("settled");
  }

  /** Its transaction was not committed. */
  repeat(): void {
    if (this.#state === "waiting") return;
    this.#mustRepeat = true;
    this.#settled.resolve("repeat");
  }

  /** Its turn cannot begin. */
  reject(error: unknown): void {
    if (this.#state !== "waiting") return;
    this.#turn.reject(error);
    this.#end("discarded");
  }

  rejectSettled(error: unknown): void {
    this.#settled.reject(error);
  }
}

/** It may be executed, rolled back and executed again: it changes rows only, and no savepoint. */
const isRepeatable = (statement: string, values: unknown) =>
  !isSavepointStatement(statement) && (values === undefined || Array.isArray(values));

function toOutcome(error: unknown): InboxSettleOutcome {
  if (isReceiverError(error, "LEASE_LOST")) return "lost";
  if (isReceiverError(error, "SUPERSEDED")) return "superseded";
  throw error;
}

const evicted = (why: string) =>
  new ReceiverError(
    "TRANSACTION_ENDED",
    `the event left its shared transaction: ${why}; its handlers run again`,
  );

/** Deadlocks, serialization failures, statements that were cancelled or waited for a lock; a connection that was lost. */
function isCausedBySharing(error: unknown): boolean {
  if (isReceiverError(error, "INBOX_UNAVAILABLE") || !isFromServer(error)) return true;
  return /^(40|55P03|57)/.test(String((error as { code?: unknown }).code ?? ""));
}

/** The event before it ended the transaction, or the savepoint. */
function isWithoutSavepoint(error: unknown): boolean {
  return ["25P01", "3B001"].includes(String((error as { code?: unknown }).code));
}
