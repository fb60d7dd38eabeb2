// One transaction of several events, on one client; shared-transactions.ts says what it is for.
//
// TURNS. An event has the transaction from its first statement to the end of its handlers. A turn ends with a reset of the
// session. Where `pg` can, the first statement of the next turn is sent behind that reset, before its result is known: an
// event then costs one round trip. When the reset fails, that statement fails with it, since the server executes nothing
// in a transaction that it has aborted. Both members are rolled back to the savepoint, and the second one runs again,
// alone.
//
// GROUPS. A plain transaction has only statements that are known to leave nothing in the session, so its turns end without
// a reset. Events whose handlers are known to send one statement each take a turn together: their statements are sent
// behind each other, in one write, and cost a part of a round trip. A group is kept or rolled back as a whole. When a
// member fails, or sends a second statement, the others run again, in turns of their own. Before the commit the server
// looks for hidden code in all that was touched; when there is any, all events run again, alone.

import { leaseLost, superseded } from "../../lazy-transaction.ts";
import { settledEnd } from "../../row-end.ts";
import { endedBySql } from "../../sql/transaction-control.ts";
import type { PooledClient } from "../connection/bounded-pool.ts";
import { joinWrites } from "../connection/pipelining.ts";
import { codeOf, isFromServer } from "../connection/server-errors.ts";
import { type Backend, cancelStatement } from "../connection/watch-transaction.ts";
import { begin } from "../sql/postgres-expressions.ts";
import { lastResult, type PostgresResult, type PostgresRow } from "../sql/postgres-pool.ts";
import { isLeftOver, isLockLeft } from "../sql/session-reset.ts";
import type { GroupSize } from "./group-size.ts";
import type { PlainStatements } from "./plain-statements.ts";
import { endRows, type PostgresDatabase } from "./postgres-operations.ts";
import type { Member } from "./shared-member.ts";

export interface SharedTransactionOptions extends PostgresDatabase {
  /** How long a turn may take. */
  readonly turnMs: number;
  readonly queryTimeoutMs: number;
  /** Each turn ends with a search for advisory locks. */
  readonly searchesLocks: boolean;
  readonly statements: PlainStatements;
  /** It has only statements that leave nothing. */
  readonly isPlain: boolean;
  /** Its events begin with one statement, of which it is to be learned whether it leaves something. */
  readonly isLearning: boolean;
  readonly groupSize: GroupSize;
  /** Rows of the source can be claimed now. */
  notify(source: string): void;
}

const savepoint = "workspace_tasks_event";
/** The place of a sequence may be left. */
const plainReset = "DISCARD SEQUENCES";

interface Turn {
  readonly member: Member;
  readonly ended: Promise<void>;
}

export class SharedTransaction {
  /** Those that are kept, and the one whose turn it is. */
  readonly members: Member[] = [];
  /** Its session cannot be used by another event. */
  isTainted = false;
  /** The database has deferrable constraints. */
  defers = false;
  /** An event has left an advisory lock, which later ones may have seen. */
  hasFoundLock = false;
  readonly #pooled: PooledClient;
  readonly #options: SharedTransactionOptions;
  readonly #pipelines: boolean;
  #xact: string | undefined;
  #backend: Backend | undefined;
  /** In progress: one, or those of a group. */
  #turns: Turn[] = [];
  /** Those that ended last, and whether their reset succeeded. */
  #last: { readonly members: readonly Member[]; readonly isReset: Promise<boolean> } | undefined;

  constructor(pooled: PooledClient, options: SharedTransactionOptions) {
    this.#pooled = pooled;
    this.#options = options;
    this.#pipelines = pooled.pipeline();
  }

  get hasBegun(): boolean {
    return this.#xact !== undefined;
  }

  async begin(): Promise<void> {
    const { checkTransaction } = this.#options.sql;
    const row = await this.#check(`${begin}; ${this.#limits}; SAVEPOINT ${savepoint}; ${checkTransaction}`);
    this.#xact = String(row?.["xact"]);
    this.#backend = { pid: Number(row?.["pid"]), began: String(row?.["began"]) };
  }

  async #check(statements: string): Promise<PostgresRow | undefined> {
    const [row] = lastResult(await this.#query(statements)).rows;
    this.defers = row?.["defers"] === true;
    return row;
  }

  /**
   * Resolves when another turn may begin: at once where it may be of the same group. Throws when the transaction cannot be
   * used any more.
   */
  async takeTurn(member: Member): Promise<void> {
    const isGrouped = this.#isGrouped(member);
    if (!isGrouped || this.#turns.length >= this.#options.groupSize.max) await this.endTurns();
    this.#begin(member, isGrouped);
    if (!isGrouped) await this.endTurns();
  }

  /** Another event can join those whose turns are in progress. */
  get hasOpenGroup(): boolean {
    return this.#turns.length > 0 && this.#turns.length < this.#options.groupSize.max;
  }

  /** Resolves when the handlers of all turns in progress have ended. */
  async handlersEnded(): Promise<void> {
    await Promise.all(this.#turns.map(({ ended }) => ended));
  }

  #isGrouped({ start: { first, isInTurn } }: Member): boolean {
    const { isPlain, statements, groupSize } = this.#options;
    if (!isPlain || !this.#pipelines || groupSize.max === 1 || isInTurn) return false;
    return first !== undefined && statements.isSingle(first);
  }

  #begin(member: Member, isInterleaved: boolean): void {
    const before = this.#last;
    this.members.push(member);
    if (isInterleaved) joinWrites(this.#pooled.client);
    const ended = member.takeTurn({
      ...{ pooled: this.#pooled, isInterleaved },
      isReset: before ? before.isReset.catch(() => false) : Promise.resolve(true),
      admits: (statement) => this.#admits(member, statement, isInterleaved),
      cancelStatement: () => this.#cancelStatement(),
    });
    this.#turns.push({ member, ended });
  }

  #admits({ start: { first }, hasQueried }: Member, statement: string, isInterleaved: boolean): boolean {
    const { isPlain, statements } = this.#options;
    if (!isPlain) return true;
    const isKnown = statements.isKnown(statement);
    if (hasQueried && first !== undefined) {
      statements.addFollowed(first);
      if (!isKnown) statements.addSurprise(first);
    }
    return isKnown && !(isInterleaved && hasQueried);
  }

  /** Resolves when the turns in progress have ended, and what they wrote is kept or undone. */
  async endTurns(): Promise<void> {
    if (this.#turns.length === 0) return;
    const before = this.#last;
    await this.handlersEnded();
    const members = this.#turns.splice(0).map(({ member }) => member);
    if (this.#pooled.isBroken) throw new Error("the connection of a shared transaction was lost");
    if (before && !(await before.isReset)) {
      for (const member of members) member.repeat();
      return this.#undo(...before.members, ...members);
    }
    // Not the fault of the event whose turn is next.
    if (this.#pooled.client.getTransactionStatus?.() === "I") throw endedBySql("a COMMIT or ROLLBACK");
    if (!isWhole(members)) {
      if (members.length > 1) this.#options.groupSize.onUndone();
      for (const member of members) if (member.isKept) member.repeat("repeat_in_turn");
      return this.#undo(...members);
    }
    if (this.#options.isPlain) this.#options.groupSize.onKept();
    this.#last = members.some(({ hasQueried }) => hasQueried) ? this.#endTurn(members) : undefined;
    if (!this.#isPipelined(members)) await this.endLastTurn();
  }

  /** Nothing is sent behind a statement that failed: it may have ended the transaction. */
  #isPipelined(members: readonly Member[]): boolean {
    return this.#pipelines && members.every(({ isFlawless }) => isFlawless);
  }

  /** Resolves when no reset is in progress. */
  async endLastTurn(): Promise<void> {
    const last = this.#last;
    if (last && !(await last.isReset)) await this.#undo(...last.members);
  }

  /** The last members, back to the savepoint. */
  async #undo(...undone: readonly Member[]): Promise<void> {
    this.#last = undefined;
    if (undone.some(({ hasQueried }) => hasQueried)) {
      // Also of a plain transaction: the server no longer knows what they touched, which may have new code.
      const reset = `${this.#options.sql.resetAndSearchLocks}; ${this.#limits}`;
      const results = await this.#query(`ROLLBACK TO SAVEPOINT ${savepoint}; ${reset}`);
      // Those of the undone members are gone.
      if (isLockLeft(results)) this.#failWithLock();
      this.isTainted = isLeftOver(results);
    }
    this.members.splice(-undone.length);
    for (const member of undone) member.undo();
  }

  #failWithLock(): never {
    this.hasFoundLock = true;
    throw new Error("an event of a shared transaction has left an advisory lock");
  }

  /** The handler has switched the server's time limit off. */
  #cancelStatement(): void {
    if (this.#backend) void cancelStatement(this.#options.pool, this.#backend);
  }

  #endTurn(members: readonly Member[]) {
    if (this.#isPipelined(members)) joinWrites(this.#pooled.client);
    const isReset = this.#reset(members);
    isReset.catch(() => {});
    return { members, isReset };
  }

  /** A statement that failed, and was not rolled back to a savepoint of the handler, has spoilt all that follow. */
  async #reset(members: readonly Member[]): Promise<boolean> {
    const text = `${this.#resetOf(members)}; RELEASE SAVEPOINT ${savepoint}; SAVEPOINT ${savepoint}`;
    try {
      // Not as the inbox's other statements are: its value is NULL, and `pg` takes long to copy an object.
      await this.#pooled.within(this.#pooled.client.query(text));
      return true;
    } catch (error) {
      if (!isFromServer(error)) throw error;
      if (isWithoutSavepoint(error)) throw endedBySql("a COMMIT or ROLLBACK");
      for (const member of members) {
        const explained = member.failed.explain(error);
        if (explained === error || members.length > 1) member.repeat();
        else member.rejectSettled(explained);
      }
      return false;
    }
  }

  #resetOf(members: readonly Member[]): string {
    const { sql, searchesLocks, isPlain } = this.#options;
    if (isPlain) return plainReset;
    const searches = searchesLocks || members.some(({ namesLocks }) => namesLocks);
    return `${searches ? sql.requireResetWithoutLocks : sql.requireReset}; ${this.#limits}`;
  }

  async commit(): Promise<void> {
    await this.endTurns();
    await this.endLastTurn();
    const { members } = this;
    const { sql, notify, isPlain, isLearning, statements } = this.#options;
    if (members.length === 0) return this.#pooled.rollBack(sql.resetSession);
    const ends = members.map(({ claim, settlement }) => settledEnd(claim, settlement));
    const row = await this.#check(`SET LOCAL statement_timeout = 0; ${this.#finalCheck}`);
    if (row?.["xact"] !== this.#xact) throw endedBySql("a COMMIT or ROLLBACK");
    if (this.defers) throw new Error("a constraint of the database became deferrable");
    if (row?.["locks"] === true) this.#failWithLock();
    if (isPlain && row?.["is_plain"] !== true) this.#failWithHiddenCode();
    if (isLearning) for (const { texts } of members) statements.learn(texts, row?.["is_plain"] === true);
    const results = await this.#pooled.within(endRows(this.#pooled, this.#options, ends, this.#xact));
    if (results.some((end, index) => end?.result !== ends[index]?.outcome))
      throw results[0] ? superseded() : leaseLost();
    await this.#query("COMMIT");
    this.#pooled.release(this.isTainted);
    members.forEach(({ claim }, index) => {
      if (results[index]?.hasMore) notify(claim.source);
    });
    for (const member of members) member.settle();
  }

  get #finalCheck(): string {
    const { sql, isPlain, isLearning } = this.#options;
    if (isPlain) return sql.checkPlainTransaction;
    return isLearning ? sql.checkAndLearn : sql.checkSharedTransaction;
  }

  #failWithHiddenCode(): never {
    this.#options.statements.forget();
    throw new Error("the statements of a shared transaction have run code of the database");
  }

  /** Of a turn; each reset of the session ends them. */
  get #limits(): string {
    const { turnMs, queryTimeoutMs } = this.#options;
    return `SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(turnMs))};
      SET LOCAL idle_in_transaction_session_timeout = ${Math.max(1, Math.ceil(queryTimeoutMs))}`;
  }

  #query(text: string): Promise<PostgresResult | readonly PostgresResult[]> {
    return this.#pooled.within(this.#pooled.query(text));
  }
}

/** What they wrote can be kept: a group's only as a whole. */
const isWhole = (members: readonly Member[]) =>
  members.every(({ isKept, failed }) => isKept && (members.length === 1 || failed.isEmpty));

const isWithoutSavepoint = (error: unknown) => ["25P01", "3B001"].includes(codeOf(error));
