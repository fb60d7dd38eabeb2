// One connection, one queue. SQLite has a single writer and syncs the disk at each commit, so what arrives together
// shares a transaction: deliveries, claims and settled rows alike. A handler's transaction takes the connection for
// itself. Its queries answer within the same turn of the event loop, so that a handler which only queries is done
// before the next delivery is even read; one that waits for the network in between is rolled back after a limit,
// because nothing can be acknowledged meanwhile.

import type { Clock } from "../../clock.ts";
import { TransactionEndedError } from "../../errors.ts";
import { type SqliteConnection, sqliteErrorCode } from "./sqlite-driver.ts";
import { rollBack } from "./sqlite-migrations.ts";

type Work = {
  run(connection: SqliteConnection): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
};

type Turn = {
  readonly timeoutMs: number;
  grant(connection: SqliteConnection, end: () => void): void;
  deny(error: unknown): void;
};

export type SqliteWriterOptions = {
  readonly connect: () => SqliteConnection;
  readonly clock: Clock;
  /** How long to try again while another process holds the file's write lock. */
  readonly busyTimeoutMs: number;
};

/** A handler's hold on the connection, inside a transaction. */
export interface SqliteHold {
  /** @throws {TransactionEndedError} after `end`, or when the hold lasted too long */
  connection(): SqliteConnection;
  /** Ends the transaction and the hold; nothing happens when it has ended already. */
  end(how: "COMMIT" | "ROLLBACK"): void;
}

export class SqliteWriter {
  readonly #options: SqliteWriterOptions;
  #connection: SqliteConnection | undefined;
  #waiting: Work[] = [];
  readonly #reading: Work[] = [];
  readonly #turns: Turn[] = [];
  #held = false;
  #scheduled = false;
  #busySinceMs: number | undefined;

  constructor(options: SqliteWriterOptions) {
    this.#options = options;
  }

  /** Runs `operation` in a transaction shared with others, and resolves once that is on disk. It may run twice. */
  run<Result>(operation: (connection: SqliteConnection) => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ run: operation, resolve: resolve as (result: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Runs `operation` outside any transaction, so that looking never waits for another process's writes. */
  read<Result>(operation: (connection: SqliteConnection) => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#reading.push({ run: operation, resolve: resolve as (result: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Waits for the connection and begins a transaction on it. */
  hold(timeoutMs: number): Promise<SqliteHold> {
    return new Promise((resolve, reject) => {
      this.#turns.push({
        timeoutMs,
        deny: reject,
        grant: (connection, release) => resolve(this.#holdOf(connection, timeoutMs, release)),
      });
      this.#schedule();
    });
  }

  #holdOf(connection: SqliteConnection, timeoutMs: number, release: () => void): SqliteHold {
    let ended: string | undefined;
    const end = (how: "COMMIT" | "ROLLBACK", reason: string) => {
      if (ended) return;
      ended = reason;
      cancelLimit();
      try {
        if (how === "ROLLBACK") this.#rollBack(connection);
        else connection.exec("COMMIT");
      } catch (error) {
        this.#rollBack(connection);
        this.#replaceIfBroken(error);
        throw error;
      } finally {
        release();
      }
    };
    const cancelLimit = this.#options.clock.schedule(timeoutMs, () =>
      end(
        "ROLLBACK",
        `the transaction was open for ${timeoutMs} ms and was rolled back: call other services before the first query`,
      ),
    );
    return {
      connection() {
        if (ended) throw new TransactionEndedError(ended);
        return connection;
      },
      end: (how) => end(how, "the transaction of this event has ended"),
    };
  }

  #schedule(): void {
    if (this.#scheduled || this.#held) return;
    this.#scheduled = true;
    this.#gather(0, gatherTicksMax);
  }

  /** Deliveries of one burst are read over several turns of the event loop: as long as each brings more, it pays to wait. */
  #gather(seen: number, ticksLeft: number): void {
    setImmediate(() => {
      if (this.#waiting.length > seen && ticksLeft > 0 && this.#turns.length === 0) {
        this.#gather(this.#waiting.length, ticksLeft - 1);
        return;
      }
      this.#scheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    if (this.#held) return;
    for (const reading of this.#reading.splice(0)) this.#readNow(reading);
    const works = this.#waiting.splice(0, batchMax);
    if (works.length > 0) this.#commitTogether(works);
    const turn = this.#busySinceMs === undefined ? this.#turns.shift() : undefined;
    if (turn) this.#grant(turn);
    if (this.#busySinceMs === undefined && (this.#waiting.length > 0 || this.#turns.length > 0))
      this.#schedule();
  }

  #readNow({ run, resolve, reject }: Work): void {
    try {
      this.#connection ??= this.#options.connect();
      resolve(run(this.#connection));
    } catch (error) {
      this.#replaceIfBroken(error);
      reject(error);
    }
  }

  #grant(turn: Turn): void {
    let connection: SqliteConnection;
    try {
      connection = this.#begin();
    } catch (error) {
      this.#turns.unshift(turn);
      if (!this.#waitForLock(error)) this.#refuseAll(error);
      return;
    }
    this.#held = true;
    turn.grant(connection, () => {
      this.#held = false;
      this.#schedule();
    });
  }

  #commitTogether(works: Work[]): void {
    let connection: SqliteConnection;
    try {
      connection = this.#begin();
    } catch (error) {
      this.#waiting.unshift(...works);
      if (!this.#waitForLock(error)) this.#refuseAll(error);
      return;
    }
    try {
      const results = works.map((work) => work.run(connection));
      connection.exec("COMMIT");
      works.forEach((work, index) => {
        work.resolve(results[index]);
      });
    } catch (error) {
      this.#rollBack(connection);
      this.#replaceIfBroken(error);
      if (works.length === 1) works[0]?.reject(error);
      else for (const work of works) this.#commitTogether([work]);
    }
  }

  #begin(): SqliteConnection {
    this.#connection ??= this.#options.connect();
    try {
      this.#connection.exec("BEGIN IMMEDIATE");
    } catch (error) {
      this.#replaceIfBroken(error);
      throw error;
    }
    this.#busySinceMs = undefined;
    return this.#connection;
  }

  /** True when the lock is another process's and there is time left: the queue then goes on a little later. */
  #waitForLock(error: unknown): boolean {
    if (!sqliteErrorCode(error).startsWith("SQLITE_BUSY")) return false;
    const now = this.#options.clock.monotonic();
    this.#busySinceMs ??= now;
    if (now - this.#busySinceMs >= this.#options.busyTimeoutMs) {
      this.#busySinceMs = undefined;
      return false;
    }
    if (!this.#scheduled) {
      this.#scheduled = true;
      this.#options.clock.schedule(busyRetryMs, () => {
        this.#scheduled = false;
        this.#turn();
      });
    }
    return true;
  }

  #refuseAll(error: unknown): void {
    for (const work of this.#waiting.splice(0)) work.reject(error);
    for (const turn of this.#turns.splice(0)) turn.deny(error);
  }

  /** A transaction that stayed open would refuse every later one; it is closed with its connection. */
  #rollBack(connection: SqliteConnection): void {
    if (!rollBack(connection)) this.#disconnect();
  }

  /** A connection opened on a read-only or missing file stays so; the next use opens the file anew. */
  #replaceIfBroken(error: unknown): void {
    if (!/^SQLITE_(READONLY|CANTOPEN|IOERR|NOTADB|CORRUPT)/.test(sqliteErrorCode(error))) return;
    this.#disconnect();
  }

  #disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (!connection) return;
    // libsql gives a closed connection's lock back only when its statements are collected.
    rollBack(connection);
    try {
      connection.close();
    } catch {
      // A broken connection may refuse to close; it is let go either way.
    }
  }

  /** Closes the file once everything queued is written. A later use opens it again. */
  async close(): Promise<void> {
    if (this.#connection) await this.run(() => undefined).catch(() => undefined);
    this.#disconnect();
  }
}

// Bounds how long one commit keeps the event loop.
const batchMax = 256;
const gatherTicksMax = 5;
const busyRetryMs = 5;
