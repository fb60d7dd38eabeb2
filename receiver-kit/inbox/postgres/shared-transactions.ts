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
// PIPELINE. Most handlers execute one statement, so the first statements of all members that wait are sent in one message,
// each after a savepoint. The result of a statement is hidden until the turn of its member. When a member before it fails
// or executes another statement, it is rolled back, and executed again later.
//
// LOCKS. What a member has locked is locked until the commit: at most for `transactionMsMax`, the turn that is then in
// progress, and the commit. Two transactions alternate, so that one takes turns while the other is written to disk.

import { type Clock, systemClock } from "../../clock.ts";
import { isReceiverError } from "../../errors.ts";
import type { InboxClaim, InboxSettlement } from "../inbox.ts";
import { leaseLost, superseded } from "../lazy-transaction.ts";
import { settledEnd } from "../row-end.ts";
import { endedBySql } from "../transaction-control.ts";
import type { PooledClient } from "./bounded-pool.ts";
import { endRows, type PostgresDatabase } from "./postgres-operations.ts";
import { lastResult, type PostgresResult } from "./postgres-pool.ts";
import { queryAll } from "./query-after.ts";
import { isFromServer } from "./server-errors.ts";
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
const namesMs = 60_000;
const namesMax = 1_000;
const pipelinedMax = 16;
const savepoint = "workspace_tasks_event";
/** Of the members of one message; that of the first one contains the others. */
const savepointOf = (index: number) => (index === 0 ? savepoint : `${savepoint}_${index}`);
const nextSavepoint = [`RELEASE SAVEPOINT ${savepoint}`, `SAVEPOINT ${savepoint}`];
const rollBackTo = (index: number) => `ROLLBACK TO SAVEPOINT ${savepointOf(index)}`;

export class SharedTransactions {
  readonly #dependencies: Dependencies;
  readonly #clock: Clock;
  readonly #waiting: Member[] = [];
  readonly #unshared: RecentNames;
  readonly #severalStatements: RecentNames;
  #running = 0;

  constructor(dependencies: Dependencies, clock = systemClock) {
    this.#dependencies = dependencies;
    this.#clock = clock;
    this.#unshared = new RecentNames(clock);
    this.#severalStatements = new RecentNames(clock);
  }

  /** Whether the event may share a transaction. */
  mayShare(claim: InboxClaim): boolean {
    return this.#dependencies.eventsMax > 1 && !this.#unshared.has(claim);
  }

  join(claim: InboxClaim, settlement: InboxSettlement): SharedMember {
    const member = new Member(claim, settlement, {
      turnMs: this.#dependencies.turnMs,
      clock: this.#clock,
      leave: () => this.#leave(member),
      onEvicted: () => this.#unshared.add(claim),
      onMore: () => this.#severalStatements.add(claim),
    });
    this.#waiting.push(member);
    if (this.#running < transactionsMax) void this.#run();
    return member;
  }

  #leave(member: Member): void {
    const index = this.#waiting.indexOf(member);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  /** Those whose turns are next. Of all but the last, the first statement is probably the only one. */
  #next(membersMax: number): Member[] {
    const isLast = ({ first, hasMore, claim }: Member) =>
      !first || hasMore || this.#severalStatements.has(claim);
    const max = Math.min(membersMax, pipelinedMax);
    let count = 1;
    while (count < max && this.#waiting[count]?.first && !isLast(this.#waiting[count - 1] as Member)) count++;
    return this.#waiting.splice(0, count);
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
    const transaction = new Transaction(pooled, this.#dependencies);
    const { kept } = transaction;
    let members = this.#next(eventsMax);
    // Another transaction took them.
    if (members.length === 0) return pooled.release();
    try {
      while (members.length > 0) {
        await transaction.takeTurns(members);
        this.#waiting.unshift(...members.filter(({ isWaiting }) => isWaiting));
        const mayContinue = kept.length < eventsMax && this.#clock.monotonic() < endsAtMs;
        members = mayContinue ? this.#next(eventsMax - kept.length) : [];
      }
      await transaction.commit();
    } catch (error) {
      if (kept.length === 0) members[0]?.reject(error);
      if (kept.length === 1 && isReceiverError(error)) kept[0]?.rejectSettled(error);
      for (const each of [...kept, ...members]) each.repeat();
      this.#waiting.unshift(...members.filter(({ isWaiting }) => isWaiting));
      await pooled.rollBack();
    }
  }
}

/** Names of events, each for a while. */
class RecentNames {
  readonly #untilMs = new Map<string, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has({ source, event }: InboxClaim): boolean {
    if (this.#untilMs.size === 0) return false;
    return this.#clock.monotonic() < (this.#untilMs.get(`${source} ${event}`) ?? Number.NEGATIVE_INFINITY);
  }

  add({ source, event }: InboxClaim): void {
    if (this.#untilMs.size >= namesMax) this.#untilMs.clear();
    this.#untilMs.set(`${source} ${event}`, this.#clock.monotonic() + namesMs);
  }
}

/** One transaction on one client. */
class Transaction {
  readonly kept: Member[] = [];
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

  /**
   * Removes the members whose turns have ended; the others wait for another turn. Throws when the transaction cannot be used
   * any more.
   */
  async takeTurns(members: Member[]): Promise<void> {
    if (this.#xact === undefined) await this.#begin();
    // Not the fault of the event whose turn it is.
    if (this.#pooled.client.getTransactionStatus?.() === "I") throw endedBySql("a COMMIT or ROLLBACK");
    const [member] = members;
    if (members.length > 1) return this.#takePipelinedTurns(members);
    if (!member) return;
    await this.#takeTurn(member, this.#before);
    members.shift();
    if (!member.hasQueried) return;
    const isKept = member.isKept && (await this.#isValid(member));
    if (isKept) this.kept.push(member);
    this.#before = isKept ? nextSavepoint : [rollBackTo(0)];
  }

  async #takePipelinedTurns(members: Member[]): Promise<void> {
    const results = await this.#executeFirst(members);
    for (let index = 0; index < results.length; index++) {
      const member = members[0] as Member;
      const before = index < results.length - 1 ? [rollBackTo(index + 1)] : [];
      await this.#takeTurn(member, before, results[index]?.rows);
      members.shift();
      const isKept = member.isKept && (await this.#isValid(member));
      if (isKept) this.kept.push(member);
      // The savepoint of the first member contains the others.
      this.#before = isKept ? nextSavepoint : [rollBackTo(index), ...nextSavepoint];
      if (!isKept || member.hasContinued) return;
    }
  }

  /** None where one of the statements failed: all are executed again, each in the turn of its member. */
  async #executeFirst(members: readonly Member[]): Promise<readonly PostgresResult[]> {
    const { queryTimeoutMs, turnMs } = this.#dependencies;
    const statements = members.map(({ first }, index) => ({
      ...{ text: first?.text ?? "", values: first?.values },
      before: index === 0 ? this.#before : [`SAVEPOINT ${savepointOf(index)}`],
    }));
    const limitMs = queryTimeoutMs + members.length * turnMs;
    try {
      return await this.#pooled.within(queryAll(this.#pooled.client, statements), limitMs);
    } catch {
      for (const member of members) member.isSingle = true;
      this.#before = [rollBackTo(0)];
      return [];
    }
  }

  async #takeTurn(member: Member, before: readonly string[], rows?: PostgresResult["rows"]): Promise<void> {
    await member.takeTurn(this.#pooled, before, rows);
    if (this.#pooled.isBroken) throw new Error("the connection of a shared transaction was lost");
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

  async commit(): Promise<void> {
    const { kept } = this;
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
