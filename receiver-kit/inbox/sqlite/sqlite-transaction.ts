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
import { isReceiverError, ReceiverError } from "../../errors.ts";
import { endRow, heldKey } from "../core/core.ts";
import {
  type Boundary,
  boundaryOf,
  controlKeyword,
  controlRejected,
  endedBySql,
  fromFirstWord,
  guarded,
  leaseLost,
  NestedTransaction,
  remembering,
  sqliteStatements,
  superseded,
  transactionEnded,
} from "../handler-transaction.ts";
import type { HandlerTransaction, InboxSettleOutcome, InboxSettling } from "../inbox.ts";
import { isSuperseded, settledEnd } from "../row-end.ts";
import { type SqliteConnection, type SqliteRow, type SqliteValue, tryRollback } from "./sqlite-driver.ts";
import { isDamage } from "./sqlite-file.ts";
import { SqliteStorage } from "./sqlite-storage.ts";

/** What handlers see as `context.transaction` with the SQLite inbox. */
export interface SqliteTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: its effects are kept if and only if the
   * event is. Values are text, numbers, bigints, bytes or null. The first query takes the file's only write lock, so
   * call other services before it.
   *
   * @throws {ReceiverError} `TRANSACTION_ENDED_BY_SQL` for BEGIN, COMMIT and ROLLBACK, which are not executed, and after
   * a statement that ended the transaction, such as INSERT OR ROLLBACK; the attempt then fails. SAVEPOINT is allowed.
   * `ARGUMENT_INVALID` for PRAGMA, ATTACH, DETACH, VACUUM and temporary objects, which would stay for all events, as they use one
   * connection: what they need is set by the option `driver`. The attempt fails, too.
   */
  query(statement: string, values?: readonly SqliteValue[]): Promise<readonly SqliteRow[]>;
  /**
   * The driver's own connection, inside the same transaction, as an ORM takes it. A transaction that is begun on it is a
   * savepoint within that of the event, one at a time; what would end the event's own is rejected as by `query`. `close` does
   * nothing. It is the connection of all events: what is set on it stays, and a statement that was prepared on it must not be
   * used after the event.
   *
   * @typeParam Connection that of the driver, such as `Database.Database` of better-sqlite3
   */
  connection<Connection = unknown>(): Promise<Connection>;
}

interface Dependencies {
  readonly items: readonly InboxSettling[];
  /** It may not be shared. */
  readonly isAlone: boolean;
  /** The next transaction of the event may not be shared. */
  readonly onMustBeAlone: () => void;
  readonly begin: (isAlone: boolean) => Promise<Turn>;
  /** Ends a single row without a transaction of its own. */
  readonly settle: (item: InboxSettling) => Promise<InboxSettleOutcome>;
  readonly now: () => number;
  /** Rows of the source can be claimed now. */
  wake(source: string): void;
  /** What a handler gets instead of an error of the driver. */
  explain(error: unknown): unknown;
}

const examine = remembering((statement) => ({
  keyword: controlKeyword(statement, "sqlite"),
  isSeveral: sqliteStatements(statement).length > 1,
  setting: settingOf(statement),
}));

const temporary =
  /^(?:CREATE\s+TEMP(?:ORARY)?\b|(?:CREATE|DROP|ALTER)\s+(?:UNIQUE\s+)?(?:TABLE|VIEW|INDEX|TRIGGER)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?["'`[]?temp["'`\]]?\s*\.)/i;
const ofConnection = /^(?:EXPLAIN\s+(?:QUERY\s+PLAN\s+)?)?(PRAGMA|ATTACH|DETACH|VACUUM)\b/i;

/** What it begins with, if its effect is one on the connection, which outlives the transaction. */
function settingOf(statement: string): string | undefined {
  const text = fromFirstWord(statement, "sqlite");
  return temporary.test(text) ? "a temporary object" : ofConnection.exec(text)?.[1]?.toUpperCase();
}

function settingRejected(what: string): ReceiverError {
  return new ReceiverError(
    "ARGUMENT_INVALID",
    `query: ${what} was not executed: it concerns the connection, which all events use; what they need is set by the option driver of sqliteInbox`,
  );
}

/** It begins when the handler first uses it; an event whose handlers write nothing is ended in a shared commit instead. */
export function beginSqliteTransaction(dependencies: Dependencies): HandlerTransaction<SqliteTransaction> {
  const { items, settle, onMustBeAlone, now, wake } = dependencies;
  let opening: Promise<Turn> | undefined;
  let hasEnded = false;
  /** Why it must not be committed: a handler may catch what its query throws. */
  let failure: Error | undefined;
  const opened = async () => {
    if (hasEnded) throw transactionEnded();
    opening ??= open(dependencies);
    const turn = await opening;
    if (hasEnded) throw transactionEnded();
    return turn;
  };
  const fail = (error: Error): never => {
    failure ??= error;
    throw error;
  };
  const nested = new NestedTransaction(fail);
  const end = async (turn: Turn): Promise<InboxSettleOutcome> => {
    const requested = items.map(({ claim, settlement }) => settledEnd(claim, settlement));
    const waiting = new Set<string>();
    const outcome = await turn.commit((connection) => {
      for (const each of requested) {
        const ended = endRow(new SqliteStorage(connection), each, now());
        if (ended?.result !== each.outcome) throw ended ? superseded() : leaseLost();
        if (ended.hasMore) waiting.add(each.claim.source);
      }
    });
    if (outcome === "lost") onMustBeAlone();
    for (const source of waiting) wake(source);
    return outcome;
  };
  const discard = async () => (await opening?.catch(() => undefined))?.rollback();
  return {
    handle: {
      async query(statement, values) {
        const { keyword, isSeveral, setting: found } = examine(statement);
        if (keyword) return fail(controlRejected(keyword));
        if (found) return fail(settingRejected(found));
        if (isSeveral) {
          const message = "query: statement: expected one SQL statement, got several: call query for each";
          throw new ReceiverError("ARGUMENT_INVALID", message);
        }
        const transaction = await opened();
        const connection = transaction.connection();
        try {
          return connection.query(statement, values);
        } catch (error) {
          throw isDamage(error) ? dependencies.explain(error) : error;
        }
      },
      async connection<Connection>() {
        const transaction = await opened();
        const inside = transaction.connection();
        const guards = { nested, fail, requireOpen: () => void transaction.connection() };
        return guardedConnection(inside.native as NativeConnection, guards) as Connection;
      },
    },
    async commit() {
      hasEnded = true;
      if (failure) throw failure;
      nested.requireEnded();
      const [first, ...others] = items;
      if (!opening && first && others.length === 0) return settle(first);
      // The rows of a batch end together, also without a write of the handler.
      opening ??= open(dependencies);
      try {
        return await end(await opening);
      } catch (error) {
        await discard().catch(() => undefined);
        if (isReceiverError(error, "LEASE_LOST")) return "lost";
        if (isReceiverError(error, "SUPERSEDED")) return "superseded";
        throw error;
      }
    },
    async rollback() {
      hasEnded = true;
      await discard();
    },
  };
}

/** What libsql, better-sqlite3 and node:sqlite have in common; `transaction` is missing in node:sqlite. */
interface NativeConnection {
  exec(text: string, ...options: unknown[]): unknown;
  prepare(text: string, ...options: unknown[]): NativeStatement;
  transaction?(run: unknown): unknown;
}

interface NativeStatement {
  run(...values: unknown[]): unknown;
}

interface Guards {
  readonly nested: NestedTransaction;
  /** Makes the attempt fail, also where the handler catches it. */
  fail(error: Error): never;
  /** @throws {ReceiverError} when the connection belongs to another event */
  requireOpen(): void;
}

function guardedConnection(native: NativeConnection, guards: Guards): NativeConnection {
  const { nested, fail } = guards;
  const check = (text: string) => {
    guards.requireOpen();
    // Other events share the transaction: one that is ended behind another statement would be theirs, too.
    for (const statement of [text, ...sqliteStatements(text)]) {
      const keyword = controlKeyword(statement, "sqlite");
      if (keyword) fail(controlRejected(keyword));
    }
  };
  const pass = (boundary: Boundary) => {
    guards.requireOpen();
    for (const text of nested.statementsOf(boundary)) native.exec(text);
    nested.passed(boundary);
  };
  const connection: NativeConnection = guarded(native, {
    exec(text: string, ...options: unknown[]) {
      const boundary = boundaryOf(text, "sqlite");
      if (boundary) return pass(boundary);
      check(text);
      return native.exec(text, ...options);
    },
    prepare(text: string, ...options: unknown[]) {
      const boundary = boundaryOf(text, "sqlite");
      if (!boundary) check(text);
      const statement = native.prepare(text, ...options);
      if (!boundary) return statement;
      const run = () => {
        pass(boundary);
        return { changes: 0, lastInsertRowid: 0 };
      };
      return guarded(statement, { run });
    },
    ...(native.transaction && { transaction: (run: unknown) => native.transaction?.call(connection, run) }),
    close() {},
  });
  return connection;
}

async function open({ items, isAlone, begin }: Dependencies): Promise<Turn> {
  const transaction = await begin(isAlone);
  try {
    const storage = new SqliteStorage(transaction.connection());
    for (const { claim, settlement } of items) {
      const key = heldKey(storage, claim);
      if (!key) throw leaseLost();
      if (isSuperseded(settlement, key.position)) throw superseded();
    }
    return transaction;
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}

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
  /** Ends the row of an event that is kept. */
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

const transactionTooLong = (timeoutMs: number) =>
  new ReceiverError(
    "TRANSACTION_ENDED",
    `the transaction was open for ${timeoutMs} ms (transactionTimeoutMs, at most handlerTimeoutMs) and was rolled back: call other services before the first query`,
  );

const sqliteEndings = "a statement, such as INSERT OR ROLLBACK, or by SQLite, as when the disk is full";
