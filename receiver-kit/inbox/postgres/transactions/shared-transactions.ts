// Handlers of several events share a transaction, so that an event costs a part of a commit. They take turns: a turn lasts
// from a handler's first query to its end. States of a member, which is one event:
//
//   waiting ─► in-turn ─► kept ─► settled | repeat         kept: its handlers ended, its writes wait for the commit
//   waiting | in-turn ─► discarded                         the handlers failed; rolled back to the savepoint
//   waiting | in-turn ─► evicted                           the turn took too long, or the event cannot share
//
// A transaction commits when no event waits for a turn, and at its limits. Before that the rows of all its members end in
// one statement, which locks and checks their leases. If one was lost or superseded, the transaction is rolled back and
// the handlers of all members run again, each in a transaction of its own. So do those of a member that failed because
// of another one: a deadlock, a lock that was not free in time, a connection that died.
//
// ISOLATION. Each turn ends with a reset of the session (session-reset.ts). A member that leaves what no reset removes is
// rolled back and runs again alone. Deferred constraints would be checked at the commit, and by what a later member sets:
// where the database has any, nothing is shared.
//
// LOCKS. What a member has locked is locked until the commit: at most for `transactionMsMax`, the turn that is then in
// progress, and the commit. Two transactions alternate, so that one takes turns while the other is written to disk.

import { type Clock, systemClock } from "../../../../sdk/kernel/clock.ts";
import { isReceiverError } from "../../../errors.ts";
import type { InboxClaim, InboxSettlement } from "../../inbox.ts";
import { leaseLost, superseded } from "../../lazy-transaction.ts";
import { settledEnd } from "../../row-end.ts";
import { endedBySql } from "../../sql/transaction-control.ts";
import type { PooledClient } from "../connection/bounded-pool.ts";
import { isFromServer } from "../connection/server-errors.ts";
import { type Backend, cancelStatement } from "../connection/watch-transaction.ts";
import { begin } from "../sql/postgres-expressions.ts";
import { lastResult, type PostgresResult, type PostgresRow } from "../sql/postgres-pool.ts";
import { isLeftOver } from "../sql/session-reset.ts";
import { endRows, type PostgresDatabase } from "./postgres-operations.ts";
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
/** How long it is remembered that the database has deferrable constraints. */
const defersMs = 60_000;
const savepoint = "workspace_tasks_event";

export class SharedTransactions {
  readonly #dependencies: Dependencies;
  readonly #clock: Clock;
  readonly #waiting: Member[] = [];
  #running = 0;
  #defersUntilMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: Dependencies, clock = systemClock) {
    this.#dependencies = dependencies;
    this.#clock = clock;
  }

  /** Whether events may share a transaction now. */
  get isPossible(): boolean {
    return this.#dependencies.eventsMax > 1 && this.#clock.monotonic() >= this.#defersUntilMs;
  }

  join(claim: InboxClaim, settlement: InboxSettlement): SharedMember {
    const member = new Member(claim, settlement, {
      turnMs: this.#dependencies.turnMs,
      clock: this.#clock,
      leave: () => this.#leave(member),
    });
    this.#waiting.push(member);
    if (this.#running < transactionsMax) void this.#run();
    return member;
  }

  #leave(member: Member): void {
    const index = this.#waiting.indexOf(member);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  async #run(): Promise<void> {
    this.#running += 1;
    while (this.#waiting.length > 0) await this.#runTransaction();
    this.#running -= 1;
  }

  /** Never rejects. */
  async #runTransaction(): Promise<void> {
    const { pool, eventsMax, sql } = this.#dependencies;
    const endsAtMs = this.#clock.monotonic() + transactionMsMax;
    let pooled: PooledClient;
    try {
      pooled = await pool.checkOut();
    } catch (error) {
      for (const member of this.#waiting.splice(0)) member.reject(error);
      return;
    }
    // Another transaction took them.
    if (this.#waiting.length === 0) return pooled.release();
    const transaction = new Transaction(pooled, this.#dependencies);
    const { members } = transaction;
    try {
      await transaction.begin();
      if (transaction.defers) this.#pauseSharing();
      const mayContinue = () =>
        !transaction.isTainted && members.length < eventsMax && this.#clock.monotonic() < endsAtMs;
      for (let next = this.#waiting.shift(); next; next = mayContinue() ? this.#waiting.shift() : undefined) {
        await transaction.takeTurn(next);
      }
      await transaction.commit();
    } catch (error) {
      // It could not begin.
      if (!transaction.hasBegun) this.#waiting.shift()?.reject(error);
      if (members.length === 1 && isReceiverError(error)) members[0]?.rejectSettled(error);
      for (const each of members) each.repeat();
      await pooled.rollBack(sql.resetSession);
    }
  }

  #pauseSharing(): void {
    this.#defersUntilMs = this.#clock.monotonic() + defersMs;
    for (const member of [...this.#waiting]) member.evict("the database has deferrable constraints");
  }
}

/** One transaction on one client. */
class Transaction {
  /** Those that are kept, and the one whose turn it is. */
  readonly members: Member[] = [];
  /** Its session cannot be used by another event. */
  isTainted = false;
  /** The database has deferrable constraints. */
  defers = false;
  readonly #pooled: PooledClient;
  readonly #dependencies: Dependencies;
  #xact: string | undefined;
  #backend: Backend | undefined;

  constructor(pooled: PooledClient, dependencies: Dependencies) {
    this.#pooled = pooled;
    this.#dependencies = dependencies;
  }

  get hasBegun(): boolean {
    return this.#xact !== undefined;
  }

  async begin(): Promise<void> {
    const row = await this.#check(`${begin}; ${this.#limits}; SAVEPOINT ${savepoint}`);
    this.#xact = String(row?.["xact"]);
    this.#backend = { pid: Number(row?.["pid"]), began: String(row?.["began"]) };
  }

  async #check(before: string): Promise<PostgresRow | undefined> {
    const [row] = lastResult(await this.#query(`${before}; ${this.#dependencies.sql.checkTransaction}`)).rows;
    this.defers = row?.["defers"] === true;
    return row;
  }

  /** Throws when the transaction cannot be used any more. */
  async takeTurn(member: Member): Promise<void> {
    this.members.push(member);
    await member.takeTurn(this.#pooled, () => this.#cancelStatement());
    if (this.#pooled.isBroken) throw new Error("the connection of a shared transaction was lost");
    // Not the fault of the event whose turn is next.
    if (this.#pooled.client.getTransactionStatus?.() === "I") throw endedBySql("a COMMIT or ROLLBACK");
    if (member.isKept && (await this.#canKeep(member))) return;
    this.members.pop();
    if (!member.hasQueried) return;
    const results = await this.#query(
      `ROLLBACK TO SAVEPOINT ${savepoint}; ${this.#dependencies.sql.resetSession}; ${this.#limits}`,
    );
    this.isTainted = isLeftOver(results);
  }

  /** The handler has switched the server's time limit off. */
  #cancelStatement(): void {
    if (this.#backend) void cancelStatement(this.#dependencies.pool, this.#backend);
  }

  /** A statement that failed, and was not rolled back to a savepoint of the handler, has spoilt all that follow. */
  async #canKeep(member: Member): Promise<boolean> {
    if (!member.hasQueried) return true;
    try {
      await this.#query(
        `${this.#dependencies.sql.requireResetSession}; ${this.#limits};
         RELEASE SAVEPOINT ${savepoint}; SAVEPOINT ${savepoint}`,
      );
      return true;
    } catch (error) {
      if (!isFromServer(error)) throw error;
      if (isWithoutSavepoint(error)) throw endedBySql("a COMMIT or ROLLBACK");
      const explained = member.failed.explain(error);
      if (explained === error) member.repeat();
      else member.rejectSettled(explained);
      return false;
    }
  }

  async commit(): Promise<void> {
    const { members } = this;
    const { sql, notify } = this.#dependencies;
    if (members.length === 0) return this.#pooled.rollBack(sql.resetSession);
    const ends = members.map(({ claim, settlement }) => settledEnd(claim, settlement));
    const row = await this.#check("SET LOCAL statement_timeout = 0");
    if (row?.["xact"] !== this.#xact) throw endedBySql("a COMMIT or ROLLBACK");
    if (this.defers) throw new Error("a constraint of the database became deferrable");
    const results = await this.#pooled.within(endRows(this.#pooled, this.#dependencies, ends, this.#xact));
    if (results.some((end, index) => end?.result !== ends[index]?.outcome))
      throw results[0] ? superseded() : leaseLost();
    await this.#query("COMMIT");
    this.#pooled.release(this.isTainted);
    members.forEach(({ claim }, index) => {
      if (results[index]?.hasMore) notify(claim.source);
    });
    for (const member of members) member.settle();
  }

  /** Of a turn; each reset of the session ends them. */
  get #limits(): string {
    const { turnMs, queryTimeoutMs } = this.#dependencies;
    return `SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(turnMs))};
      SET LOCAL idle_in_transaction_session_timeout = ${Math.max(1, Math.ceil(queryTimeoutMs))}`;
  }

  #query(text: string): Promise<PostgresResult | readonly PostgresResult[]> {
    return this.#pooled.within(this.#pooled.query(text));
  }
}

const isWithoutSavepoint = (error: unknown) =>
  ["25P01", "3B001"].includes(String((error as { code?: unknown }).code));
