// Handlers of several events share a transaction, so that an event costs a part of a commit. They take turns: a turn lasts
// from a handler's first query to its end. States of a member, which is one event:
//
//   waiting ─► in-turn ─► kept ─► settled | repeat         kept: its handlers ended, its writes wait for the commit
//   waiting | in-turn ─► discarded                         the handlers failed; rolled back to the savepoint
//   waiting | in-turn ─► evicted                           the turn took too long, or the event cannot share
//
// Those that send one plain statement each have their turns together: see shared-transaction.ts. A transaction has plain
// statements only, or is one whose turns end with a reset.
//
// A transaction commits when no event waits for a turn, and at its limits. Before that the rows of all its members end in
// one statement, which locks and checks their leases. If one was lost or superseded, the transaction is rolled back and
// the handlers of all members run again, each in a transaction of its own. So do those of a member that failed because
// of another one: a deadlock, a lock that was not free in time, a connection that died.
//
// ISOLATION. Each turn ends with a reset of the session (session-reset.ts). A member that leaves what no reset removes is
// rolled back and runs again alone, and so does the one whose first statement was sent behind that reset
// (shared-transaction.ts). Advisory locks are searched for before the commit, and after a member has failed. When one is
// found, later members may have seen it: all run again alone, and for a minute each turn ends with a search, so that only
// the member that takes such locks does. Deferred constraints would be checked at the commit, and by what a later member
// sets: where the database has any, nothing is shared.
//
// LOCKS. What a member has locked is locked until the commit: at most for `transactionMsMax`, the turn that is then in
// progress, and the commit. Two transactions alternate, so that one takes turns while the other is written to disk.

import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { isReceiverError } from "../../../errors.ts";
import type { InboxClaim, InboxSettlement } from "../../inbox.ts";
import type { PooledClient } from "../connection/bounded-pool.ts";
import { GroupSize } from "./group-size.ts";
import { PlainStatements } from "./plain-statements.ts";
import { Member, type MemberStart } from "./shared-member.ts";
import { SharedTransaction, type SharedTransactionOptions } from "./shared-transaction.ts";

interface Dependencies
  extends Omit<
    SharedTransactionOptions,
    "searchesLocks" | "statements" | "isPlain" | "isLearning" | "groupSize"
  > {
  /** 1: no transaction is shared. */
  readonly eventsMax: number;
}

const plain = "plain";
const transactionsMax = 2;
const transactionMsMax = 100;
/** How long it is remembered that the database has deferrable constraints. */
const defersMs = 60_000;
/** How long each turn is followed by a search for advisory locks, after one was found. */
const searchesLocksMs = 60_000;

export class SharedTransactions {
  readonly #dependencies: Dependencies;
  readonly #clock: Clock;
  readonly #statements: PlainStatements;
  readonly #groupSize = new GroupSize();
  readonly #waiting: Member[] = [];
  #joined = deferred<void>();
  #running = 0;
  #defersUntilMs = Number.NEGATIVE_INFINITY;
  #searchesLocksUntilMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: Dependencies, clock = systemClock) {
    this.#dependencies = dependencies;
    this.#clock = clock;
    this.#statements = new PlainStatements(clock);
  }

  /** Whether events may share a transaction now. */
  get isPossible(): boolean {
    return this.#dependencies.eventsMax > 1 && this.#clock.monotonic() >= this.#defersUntilMs;
  }

  join(claim: InboxClaim, settlement: InboxSettlement, start: MemberStart): Member {
    const { first } = start;
    const options = {
      ...start,
      learns: first !== undefined && this.#statements.isWorthLearning(first),
      turnMs: this.#dependencies.turnMs,
      clock: this.#clock,
      leave: () => this.#leave(member),
    };
    const member = new Member(claim, settlement, options);
    this.#waiting.push(member);
    this.#joined.resolve();
    this.#joined = deferred();
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
    const startedAtMs = this.#clock.monotonic();
    let pooled: PooledClient;
    try {
      pooled = await pool.checkOut();
    } catch (error) {
      for (const member of this.#waiting.splice(0)) member.reject(error);
      return;
    }
    const [head] = this.#waiting;
    // Another transaction took them.
    if (!head) return pooled.release();
    const kind = this.#kindOf(head);
    const isOfKind = (member: Member) => this.#kindOf(member) === kind;
    const transaction = new SharedTransaction(pooled, {
      ...this.#dependencies,
      ...{ isPlain: kind === plain, isLearning: kind !== plain && kind !== undefined },
      ...{ statements: this.#statements, groupSize: this.#groupSize },
      searchesLocks: startedAtMs < this.#searchesLocksUntilMs,
    });
    const { members } = transaction;
    const mayContinue = () =>
      !transaction.isTainted &&
      members.length < eventsMax &&
      this.#clock.monotonic() < startedAtMs + transactionMsMax;
    const next = async () => {
      // Others may join while the last turns end.
      if (!this.#waiting.some(isOfKind) && transaction.hasOpenGroup)
        await Promise.race([transaction.handlersEnded(), this.#joined.promise]);
      if (!this.#waiting.some(isOfKind)) {
        await transaction.endTurns();
        await transaction.endLastTurn();
      }
      return mayContinue() ? this.#take(isOfKind) : undefined;
    };
    try {
      await transaction.begin();
      if (transaction.defers) this.#pauseSharing();
      for (let member = this.#take(isOfKind); member; member = await next())
        await transaction.takeTurn(member);
      await transaction.commit();
    } catch (error) {
      // It could not begin.
      if (!transaction.hasBegun) this.#waiting.shift()?.reject(error);
      if (transaction.hasFoundLock) this.#searchesLocksUntilMs = this.#clock.monotonic() + searchesLocksMs;
      if (members.length === 1 && isReceiverError(error)) members[0]?.rejectSettled(error);
      for (const each of members) each.repeat();
      await pooled.rollBack(sql.resetSession);
    }
  }

  /** Events of one kind share transactions: with plain statements, with one that is to be learned, or all others. */
  #kindOf({ start: { first, learns } }: Member): string | undefined {
    if (first !== undefined && this.#statements.beginsPlain(first)) return plain;
    return learns ? first : undefined;
  }

  #take(isOfKind: (member: Member) => boolean): Member | undefined {
    const index = this.#waiting.findIndex(isOfKind);
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  #pauseSharing(): void {
    this.#defersUntilMs = this.#clock.monotonic() + defersMs;
    for (const member of [...this.#waiting]) member.evict("the database has deferrable constraints");
  }
}
