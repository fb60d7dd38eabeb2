// Handlers of several events and writes of the inbox in one transaction, so that they share a commit. Handlers take turns:
// a turn lasts from a handler's first query to its end, and nothing else runs meanwhile. A turn that is alone has the
// transaction for itself. States of a turn:
//
//   waiting ─► running ─► kept ─► settled | lost        kept: its writes wait for the commit
//                        └► undone                       the handlers failed, or the time limit is over
//   alone:                kept ─► settled | failed
//
// The rows of the kept turns end together, before the commit. When the transaction cannot commit, or a handler ended
// it, the other kept turns are lost: their events are handled again, each in a
// transaction of its own, and the writes are repeated.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { type Deferred, deferred } from "@workspace-tasks/kernel/deferred.ts";
import { ReceiverError } from "../../errors.ts";
import { endedBySql, transactionEnded } from "../handler-transaction.ts";
import { type SqliteConnection, tryRollback } from "./sqlite-driver.ts";

export interface WriteOperation {
  run(connection: SqliteConnection): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** After `timeoutMs` it is undone. */
export interface TurnOptions {
  readonly timeoutMs: number;
  readonly isAlone: boolean;
}

const savepoint = "workspace_tasks_turn";

export class Turn {
  readonly isAlone: boolean;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #ended = deferred<void>();
  readonly #settled = deferred<"settled" | "lost">();
  readonly #begun: Deferred<Turn>;
  #connection: SqliteConnection | undefined;
  /** Creates what later calls throw: an error with its stack costs more than a statement. */
  #failure: (() => ReceiverError) | undefined;
  #cancelTimeout = () => {};
  /** Of one that is kept. */
  endRow: ((connection: SqliteConnection) => void) | undefined;

  constructor(options: TurnOptions, clock: Clock, begun: Deferred<Turn>) {
    this.isAlone = options.isAlone;
    this.#timeoutMs = options.timeoutMs;
    this.#clock = clock;
    this.#begun = begun;
    this.#settled.promise.catch(() => {});
  }

  /** Resolves when the turn has ended. */
  async run(connection: SqliteConnection): Promise<void> {
    this.#connection = connection;
    this.#cancelTimeout = this.#clock.schedule(this.#timeoutMs, () =>
      this.#end(() => transactionTooLong(this.#timeoutMs)),
    );
    this.#begun.resolve(this);
    await this.#ended.promise;
  }

  reject(error: unknown): void {
    this.#begun.reject(error);
  }

  /** @throws {ReceiverError} `TRANSACTION_ENDED` after its end or the time limit, `TRANSACTION_ENDED_BY_SQL` */
  connection(): SqliteConnection {
    // SQLite would execute and commit each statement after the end by itself.
    if (!this.#failure && !this.#connection?.isInTransaction()) this.#end(() => endedBySql(sqliteEndings));
    if (this.#failure || !this.#connection) throw this.#failure?.() ?? transactionEnded();
    return this.#connection;
  }

  /** `end` is called in the transaction, after the turn. `lost`: nothing was written, because of another event. */
  async commit(end: (connection: SqliteConnection) => void): Promise<"settled" | "lost"> {
    this.connection();
    this.endRow = end;
    this.#end(transactionEnded);
    return this.#settled.promise;
  }

  /** Resolves when nothing of it is open any more. Does nothing when it has ended already. */
  async rollback(): Promise<void> {
    this.#end(transactionEnded);
    await this.#settled.promise;
  }

  #end(reason: () => ReceiverError): void {
    if (this.#failure) return;
    this.#failure = reason;
    this.#cancelTimeout();
    this.#ended.resolve();
  }

  settle(outcome: "settled" | "lost"): void {
    this.#settled.resolve(outcome);
  }

  /** It was not committed. */
  fail(error: unknown): void {
    if (this.isAlone) this.#settled.reject(error);
    else this.settle("lost");
  }
}

export class SharedTransaction {
  readonly #connection: SqliteConnection;
  readonly #kept: Turn[] = [];
  readonly #undone: Turn[] = [];
  readonly #written: { readonly operation: WriteOperation; readonly result: unknown }[] = [];
  readonly #unwritten: WriteOperation[] = [];
  /** A statement of a handler ended it. */
  isBroken = false;
  /** Why it was not committed, where that was tried. */
  failure: unknown;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  get turns(): number {
    return this.#kept.length + this.#undone.length;
  }

  /** Never rejects. */
  async take(turn: Turn): Promise<void> {
    try {
      this.#connection.exec(`SAVEPOINT ${savepoint}`);
    } catch (error) {
      this.isBroken = true;
      turn.reject(error);
      return;
    }
    await turn.run(this.#connection);
    const isKept = turn.endRow !== undefined;
    (this.#endSavepoint(isKept) && isKept ? this.#kept : this.#undone).push(turn);
  }

  write(operations: readonly WriteOperation[]): void {
    if (operations.length === 0) return;
    try {
      this.#connection.exec(`SAVEPOINT ${savepoint}`);
      const written = operations.map((operation) => ({ operation, result: operation.run(this.#connection) }));
      if (this.#endSavepoint(true)) this.#written.push(...written);
      else this.#unwritten.push(...operations);
    } catch {
      this.#endSavepoint(false);
      this.#unwritten.push(...operations);
    }
  }

  /** False when it is gone: a statement ended the transaction. */
  #endSavepoint(isKept: boolean): boolean {
    try {
      if (!isKept) this.#connection.exec(`ROLLBACK TO ${savepoint}`);
      this.#connection.exec(`RELEASE ${savepoint}`);
    } catch {
      this.isBroken = true;
    }
    return !this.isBroken;
  }

  /** Returns the operations that failed, or that were not committed, for the caller to repeat. */
  end(commit: (connection: SqliteConnection) => void): readonly WriteOperation[] {
    const isCommitted = this.#tryCommit(commit);
    for (const turn of this.#kept) {
      if (isCommitted) turn.settle("settled");
      else turn.fail(this.failure ?? endedBySql(sqliteEndings));
    }
    for (const turn of this.#undone) turn.settle("lost");
    if (!isCommitted) return [...this.#written.map(({ operation }) => operation), ...this.#unwritten];
    for (const { operation, result } of this.#written) operation.resolve(result);
    return this.#unwritten;
  }

  #tryCommit(commit: (connection: SqliteConnection) => void): boolean {
    try {
      if (!this.isBroken) {
        // Not within the savepoints: SQLite copies each page that is changed in one.
        for (const turn of this.#kept) turn.endRow?.(this.#connection);
        commit(this.#connection);
      }
    } catch (error) {
      this.failure = error;
      this.isBroken = true;
    }
    if (this.isBroken) tryRollback(this.#connection);
    return !this.isBroken;
  }
}

export const transactionTooLong = (timeoutMs: number) =>
  new ReceiverError(
    "TRANSACTION_ENDED",
    `the transaction was open for ${timeoutMs} ms (transactionTimeoutMs, at most handlerTimeoutMs) and was rolled back: call other services before the first query`,
  );

export const sqliteEndings =
  "a statement, such as INSERT OR ROLLBACK, or by SQLite, as when the disk is full";
