// Handlers of several events share a transaction, so that an event costs a part of a commit. They take turns: a turn lasts
// from a handler's first query to its end. States of a member, which is one event:
//
//   waiting ─► in-turn ─► kept ─► settled | repeat         kept: its handlers ended, its writes wait for the commit
//   waiting | in-turn ─► discarded                         the handlers failed; rolled back to the savepoint
//   in-turn ─► evicted                                     the turn took too long, or the statement cannot be shared
//
// A transaction commits when no event waits for a turn, and at its limits. Before that the rows of all its members end in
// one statement, which locks and checks their leases. If one was lost or superseded, the transaction is rolled back and
// the handlers of all members run again, each in a transaction of its own. So do those of a member that failed because
// of another one: a deadlock, a lock that was not free in time, a connection that died.
//
// LOCKS. What a member has locked is locked until the commit: at most for `transactionMsMax`, the turn that is then in
// progress, and the commit. Two transactions alternate, so that one takes turns while the other is written to disk.

import { type Clock, systemClock } from "../../clock.ts";
import { isReceiverError } from "../../errors.ts";
import type { InboxClaim, InboxSettlement } from "../inbox.ts";
import { leaseLost, superseded } from "../lazy-transaction.ts";
import { settledEnd } from "../row-end.ts";
import { endedBySql } from "../transaction-control.ts";
import { isFromServer, type PooledClient } from "./bounded-pool.ts";
import { endRows, type PostgresDatabase } from "./postgres-operations.ts";
import { lastResult, type PostgresResult } from "./postgres-pool.ts";
import { Member, type SharedMember } from "./shared-member.ts";

export interface SharingOptions {
  /** 1: no transaction is shared. */
  readonly eventsMax: number;
  /** How long a turn may take. */
  readonly turnMs: number;
}

interface Dependencies extends PostgresDatabase, SharingOptions {
  readonly queryTimeoutMs: number;
  /** Rows of the source can be claimed now. */
  notify(source: string): void;
}

const transactionsMax = 2;
const transactionMsMax = 100;
/** Events of a name that was evicted are not shared for this time. */
const unsharedMs = 60_000;
const namesMax = 1_000;
const savepoint = "workspace_tasks_event";
const rollbackToSavepoint = `ROLLBACK TO SAVEPOINT ${savepoint}`;
const nextSavepoint = [`RELEASE SAVEPOINT ${savepoint}`, `SAVEPOINT ${savepoint}`];

export class SharedTransactions {
  readonly #dependencies: Dependencies;
  readonly #clock: Clock;
  readonly #waiting: Member[] = [];
  readonly #unsharedUntilMs = new Map<string, number>();
  #running = 0;

  constructor(dependencies: Dependencies, clock = systemClock) {
    this.#dependencies = dependencies;
    this.#clock = clock;
  }

  /** Whether the event may share a transaction. */
  mayShare({ source, event }: InboxClaim): boolean {
    const untilMs = this.#unsharedUntilMs.get(`${source} ${event}`) ?? Number.NEGATIVE_INFINITY;
    return this.#dependencies.eventsMax > 1 && this.#clock.monotonic() >= untilMs;
  }

  join(claim: InboxClaim, settlement: InboxSettlement): SharedMember {
    const member = new Member(claim, settlement, {
      turnMs: this.#dependencies.turnMs,
      clock: this.#clock,
      leave: () => this.#leave(member),
      onEvicted: () => this.#remember(claim),
    });
    this.#waiting.push(member);
    if (this.#running < transactionsMax) void this.#run();
    return member;
  }

  #leave(member: Member): void {
    const index = this.#waiting.indexOf(member);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  #remember({ source, event }: InboxClaim): void {
    if (this.#unsharedUntilMs.size >= namesMax) this.#unsharedUntilMs.clear();
    this.#unsharedUntilMs.set(`${source} ${event}`, this.#clock.monotonic() + unsharedMs);
  }

  async #run(): Promise<void> {
    this.#running += 1;
    while (this.#waiting.length > 0) await this.#runTransaction();
    this.#running -= 1;
  }

  /** Never rejects. */
  async #runTransaction(): Promise<void> {
    const { pool, eventsMax } = this.#dependencies;
    const endsAtMs = this.#clock.monotonic() + transactionMsMax;
    let pooled: PooledClient;
    try {
      pooled = await pool.checkOut();
    } catch (error) {
      for (const member of this.#waiting.splice(0)) member.reject(error);
      return;
    }
    const kept: Member[] = [];
    const transaction = new Transaction(pooled, this.#dependencies);
    let member = this.#waiting.shift();
    try {
      while (member) {
        if (await transaction.takeTurn(member)) kept.push(member);
        member = undefined;
        const mayGoOn = kept.length < eventsMax && this.#clock.monotonic() < endsAtMs;
        if (mayGoOn) member = this.#waiting.shift();
      }
      await transaction.commit(kept);
    } catch (error) {
      if (kept.length > 0 && member?.isWaiting) this.#waiting.unshift(member);
      else member?.reject(error);
      if (kept.length === 1 && isReceiverError(error)) kept[0]?.rejectSettled(error);
      for (const each of member ? [...kept, member] : kept) each.repeat();
      await pooled.rollBack();
    }
  }
}

/** One transaction on one client. */
class Transaction {
  readonly #pooled: PooledClient;
  readonly #dependencies: Dependencies;
  #xact: string | undefined;
  /** What has to be executed before the next member's first statement. */
  #before: readonly string[] = [];

  constructor(pooled: PooledClient, dependencies: Dependencies) {
    this.#pooled = pooled;
    this.#dependencies = dependencies;
  }

  async #begin(): Promise<void> {
    const { turnMs, queryTimeoutMs, sql } = this.#dependencies;
    const begun = await this.#query(`BEGIN; SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(turnMs))};
      SET LOCAL idle_in_transaction_session_timeout = ${Math.max(1, Math.ceil(queryTimeoutMs))};
      SAVEPOINT ${savepoint}; ${sql.currentTransaction}`);
    this.#xact = String(lastResult(begun).rows[0]?.["xact"]);
  }

  /** True when the member's writes are kept. Throws when the transaction cannot be used any more. */
  async takeTurn(member: Member): Promise<boolean> {
    if (this.#xact === undefined) await this.#begin();
    // Not the fault of the event whose turn it is.
    if (this.#pooled.client.getTransactionStatus?.() === "I") throw endedBySql("a COMMIT or ROLLBACK");
    await member.takeTurn(this.#pooled, this.#before);
    if (this.#pooled.isDestroyed) throw new Error("the connection of a shared transaction was lost");
    if (!member.hasQueried) return false;
    const isKept = member.isKept && (await this.#isValid(member));
    this.#before = isKept ? nextSavepoint : [rollbackToSavepoint];
    return isKept;
  }

  /** A statement that failed, and was not rolled back to a savepoint of the handler, has spoilt all that follow. */
  async #isValid(member: Member): Promise<boolean> {
    if (!member.hasFailed) return true;
    try {
      await this.#query(nextSavepoint.join("; "));
      return true;
    } catch (error) {
      if (!isFromServer(error)) throw error;
      member.rejectSettled(error);
      return false;
    }
  }

  async commit(kept: readonly Member[]): Promise<void> {
    if (kept.length === 0) return this.#pooled.rollBack();
    const { sql, notify } = this.#dependencies;
    const ends = kept.map(({ claim, settlement }) => settledEnd(claim, settlement));
    const afterFailure = this.#before === nextSavepoint ? [] : this.#before;
    await this.#query([...afterFailure, "SET LOCAL statement_timeout = 0"].join("; "));
    const { client } = this.#pooled;
    const results = await this.#pooled.within(
      endRows(client, { ...this.#dependencies, sql }, ends, this.#xact),
    );
    if (results.some((end, index) => end?.result !== ends[index]?.outcome)) {
      const { rows } = await client.query(sql.currentTransaction);
      if (rows[0]?.["xact"] !== this.#xact) throw endedBySql("a COMMIT or ROLLBACK");
      throw results[0] ? superseded() : leaseLost();
    }
    await this.#query("COMMIT");
    this.#pooled.release();
    kept.forEach(({ claim }, index) => {
      if (results[index]?.hasMore) notify(claim.source);
    });
    for (const member of kept) member.settle();
  }

  #query(text: string): Promise<PostgresResult | readonly PostgresResult[]> {
    return this.#pooled.within(this.#pooled.client.query(text));
  }
}
