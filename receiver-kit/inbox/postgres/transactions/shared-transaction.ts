// One transaction of several events, on one client; shared-transactions.ts says what it is for.
//
// A turn ends with a reset of the session. Where `pg` can, the first statement of the next turn is sent behind that reset,
// before its result is known: an event then costs one round trip. When the reset fails, that statement fails with it, since
// the server executes nothing in a transaction that it has aborted. Both members are rolled back to the savepoint, and the
// second one runs again, alone.

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
import { endRows, type PostgresDatabase } from "./postgres-operations.ts";
import type { Member } from "./shared-member.ts";

export interface SharedTransactionOptions extends PostgresDatabase {
  /** How long a turn may take. */
  readonly turnMs: number;
  readonly queryTimeoutMs: number;
  /** Each turn ends with a search for advisory locks. */
  readonly searchesLocks: boolean;
  /** Rows of the source can be claimed now. */
  notify(source: string): void;
}

const savepoint = "workspace_tasks_event";

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
  /** The last turn that ended, and whether its reset succeeded. */
  #last: { readonly member: Member; readonly isReset: Promise<boolean> } | undefined;

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

  /** Throws when the transaction cannot be used any more. */
  async takeTurn(member: Member): Promise<void> {
    const before = this.#last;
    this.members.push(member);
    await member.takeTurn({
      pooled: this.#pooled,
      isReset: before ? before.isReset.catch(() => false) : Promise.resolve(true),
      cancelStatement: () => this.#cancelStatement(),
    });
    if (this.#pooled.isBroken) throw new Error("the connection of a shared transaction was lost");
    if (before && !(await before.isReset)) {
      member.repeat();
      return this.#undo(before.member, member);
    }
    // Not the fault of the event whose turn is next.
    if (this.#pooled.client.getTransactionStatus?.() === "I") throw endedBySql("a COMMIT or ROLLBACK");
    if (!member.isKept) return this.#undo(member);
    this.#last = member.hasQueried ? this.#endTurn(member) : undefined;
    if (!this.#isPipelined(member)) await this.endLastTurn();
  }

  /** Nothing is sent behind a statement that failed: it may have ended the transaction. */
  #isPipelined(member: Member): boolean {
    return this.#pipelines && member.isFlawless;
  }

  /** Resolves when no reset is in progress. */
  async endLastTurn(): Promise<void> {
    const last = this.#last;
    if (last && !(await last.isReset)) await this.#undo(last.member);
  }

  /** The last members, back to the savepoint. */
  async #undo(...undone: readonly Member[]): Promise<void> {
    this.#last = undefined;
    if (undone.some(({ hasQueried }) => hasQueried)) {
      const { resetAndSearchLocks } = this.#options.sql;
      const results = await this.#query(
        `ROLLBACK TO SAVEPOINT ${savepoint}; ${resetAndSearchLocks}; ${this.#limits}`,
      );
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

  #endTurn(member: Member) {
    if (this.#isPipelined(member)) joinWrites(this.#pooled.client);
    const isReset = this.#reset(member);
    isReset.catch(() => {});
    return { member, isReset };
  }

  /** A statement that failed, and was not rolled back to a savepoint of the handler, has spoilt all that follow. */
  async #reset(member: Member): Promise<boolean> {
    const { sql, searchesLocks } = this.#options;
    const reset = searchesLocks || member.namesLocks ? sql.requireResetWithoutLocks : sql.requireReset;
    const text = `${reset}; ${this.#limits}; RELEASE SAVEPOINT ${savepoint}; SAVEPOINT ${savepoint}`;
    try {
      // Not as the inbox's other statements are: its value is NULL, and `pg` takes long to copy an object.
      await this.#pooled.within(this.#pooled.client.query(text));
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
    await this.endLastTurn();
    const { members } = this;
    const { sql, notify } = this.#options;
    if (members.length === 0) return this.#pooled.rollBack(sql.resetSession);
    const ends = members.map(({ claim, settlement }) => settledEnd(claim, settlement));
    const row = await this.#check(`SET LOCAL statement_timeout = 0; ${sql.checkSharedTransaction}`);
    if (row?.["xact"] !== this.#xact) throw endedBySql("a COMMIT or ROLLBACK");
    if (this.defers) throw new Error("a constraint of the database became deferrable");
    if (row?.["locks"] === true) this.#failWithLock();
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

const isWithoutSavepoint = (error: unknown) => ["25P01", "3B001"].includes(codeOf(error));
