// One connection and one loop. SQLite has a single writer and syncs the disk at each commit, so operations that arrive
// together share a transaction: deliveries, claims and settled rows alike. States:
//
//   idle        nothing is queued
//   scheduled   the next pass is due after the current turn of the event loop, or up to five turns later while each
//               brings more writes: the deliveries of one burst are read over several turns
//   pass        synchronous: all reads, then up to 256 writes in one commit, then the oldest exclusive request
//   exclusive   a handler's transaction has the connection; nothing else runs until it ends. Shared by several handlers,
//               the queued writes run between their turns
//   busy        another process has the write lock; the next pass is due in 5 ms
//
//   idle ─► scheduled        an operation is queued
//   scheduled ─► pass ─► idle | scheduled                 scheduled, when operations are left
//   pass ─► exclusive ─► scheduled                        commit, rollback, or rollback at the time limit; 12 ms later
//                                                         when handlers had the lock for 200 ms without such a break
//   pass ─► busy ─► pass                                  after `busyTimeoutMs` everything queued is rejected instead
//
// A handler's queries complete within one turn of the event loop, so a handler that only queries ends before the next
// delivery is read. One that waits for the network meanwhile is rolled back at its limit: nothing can be acknowledged
// while it has the connection. A commit that fails is repeated operation by operation, so that one bad operation fails
// alone. The breaks let other processes, such as the inbox command, find the lock free while slow handlers follow each
// other without end. A connection that has become unusable is closed; the next pass opens another.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { isReceiverError, ReceiverError } from "../../errors.ts";
import { type SqliteConnection, sqliteErrorCode, tryRollback } from "./sqlite-driver.ts";
import { SharedTransaction, Turn, type TurnOptions, type WriteOperation } from "./sqlite-transaction.ts";

export interface SqliteWriterOptions {
  readonly connect: () => SqliteConnection;
  /** Commits; throws also when nothing of it may be acknowledged. */
  readonly commit: (connection: SqliteConnection) => void;
  readonly disconnect: (connection: SqliteConnection) => void;
  /** Before the connection is closed for good. */
  readonly checkpoint: (connection: SqliteConnection) => void;
  /** What a caller gets instead of an error of the driver. */
  readonly explain: (error: unknown) => unknown;
  /** Begins a transaction that has the write lock; throws when there is none, also when this release may not write. */
  readonly begin: (connection: SqliteConnection) => void;
  readonly clock: Clock;
  /** How long to retry while another process has the file's write lock. */
  readonly busyTimeoutMs: number;
}

export class SqliteWriter {
  readonly #options: SqliteWriterOptions;
  #connection: SqliteConnection | undefined;
  readonly #reads: WriteOperation[] = [];
  readonly #writes: WriteOperation[] = [];
  readonly #requests: Turn[] = [];
  #isExclusive = false;
  #isScheduled = false;
  #busySinceMs: number | undefined;
  #exclusiveMsSinceBreak = 0;

  constructor(options: SqliteWriterOptions) {
    this.#options = options;
  }

  /** Runs `operation` in a transaction shared with others; resolves once that is on disk. It may run twice. */
  write<Result>(operation: (connection: SqliteConnection) => Result): Promise<Result> {
    return this.#enqueue(this.#writes, operation);
  }

  /** Runs `operation` outside any transaction, so that reading does not wait for another process's writes. */
  read<Result>(operation: (connection: SqliteConnection) => Result): Promise<Result> {
    return this.#enqueue(this.#reads, operation);
  }

  #enqueue<Result>(queue: WriteOperation[], run: (connection: SqliteConnection) => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      queue.push({ run, resolve: resolve as (result: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Waits for a turn in a transaction: one that handlers share, or one of its own. */
  begin(options: TurnOptions): Promise<Turn> {
    const begun = deferred<Turn>();
    this.#requests.push(new Turn(options, this.#options.clock, begun));
    this.#schedule();
    return begun.promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isExclusive) return;
    this.#isScheduled = true;
    this.#gather(0, gatherTurnsMax);
  }

  #gather(seen: number, turnsLeft: number): void {
    setImmediate(() => {
      const hasGrown = this.#writes.length > seen;
      if (hasGrown && turnsLeft > 0 && this.#requests.length === 0) {
        this.#gather(this.#writes.length, turnsLeft - 1);
        return;
      }
      this.#isScheduled = false;
      this.#pass();
    });
  }

  #pass(): void {
    if (this.#isExclusive) return;
    for (const read of this.#reads.splice(0)) this.#readNow(read);
    const batch = this.#writes.splice(0, batchMax);
    if (batch.length > 0) this.#commit(batch);
    const request = this.#busySinceMs === undefined ? this.#requests.shift() : undefined;
    if (request) this.#startExclusive(request);
    const hasWork = this.#writes.length > 0 || this.#requests.length > 0;
    if (hasWork && this.#busySinceMs === undefined) this.#schedule();
  }

  #readNow({ run, resolve, reject }: WriteOperation): void {
    try {
      this.#connection ??= this.#options.connect();
      resolve(run(this.#connection));
    } catch (error) {
      reject(this.#explain(error));
    }
  }

  #startExclusive(request: Turn): void {
    const connection = this.#begin(() => this.#requests.unshift(request));
    if (!connection) return;
    const { clock } = this.#options;
    const beganMs = clock.monotonic();
    this.#isExclusive = true;
    const release = () => {
      this.#isExclusive = false;
      this.#exclusiveMsSinceBreak += clock.monotonic() - beganMs;
      if (this.#exclusiveMsSinceBreak < exclusiveMsMax) return this.#schedule();
      this.#exclusiveMsSinceBreak = 0;
      this.#passLater(breakMs);
    };
    void this.#share(connection, request).then(release);
  }

  /** Never rejects. */
  async #share(connection: SqliteConnection, first: Turn): Promise<void> {
    const { clock } = this.#options;
    const shared = new SharedTransaction(connection);
    const endsAtMs = clock.monotonic() + sharedMsMax;
    let next: Turn | undefined = first;
    while (next) {
      await shared.take(next);
      if (next.isAlone) break;
      // What is ready to run meanwhile, such as the handler of the next event, joins.
      if (this.#requests.length === 0) await nextTurnOfTheLoop();
      if (!shared.isBroken) shared.write(this.#writes.splice(0, batchMax));
      const isFull = shared.isBroken || shared.turns >= turnsMax || clock.monotonic() >= endsAtMs;
      next = isFull ? undefined : this.#nextTurn();
    }
    this.#writes.unshift(...shared.end((each) => this.#commitNow(each)));
    if (shared.failure !== undefined) this.#explain(shared.failure);
    // A transaction that stayed open would make every later one fail. libsql ends the process when a closed connection
    // is asked for one.
    if (this.#connection !== connection) return;
    if (connection.isInTransaction()) this.#disconnect();
  }

  #nextTurn(): Turn | undefined {
    const [next] = this.#requests;
    if (!next || next.isAlone) return undefined;
    this.#requests.shift();
    return next;
  }

  #commit(batch: WriteOperation[]): void {
    const connection = this.#begin(() => this.#writes.unshift(...batch));
    if (!connection) return;
    try {
      const results = batch.map((operation) => operation.run(connection));
      this.#commitNow(connection);
      batch.forEach((operation, index) => {
        operation.resolve(results[index]);
      });
    } catch (error) {
      this.#rollBack(connection);
      const explained = this.#explain(error);
      if (batch.length === 1) batch[0]?.reject(explained);
      else for (const operation of batch) this.#commit([operation]);
    }
  }

  #commitNow(connection: SqliteConnection): void {
    try {
      this.#options.commit(connection);
    } catch (error) {
      if (isReceiverError(error)) this.#disconnect();
      throw error;
    }
  }

  /** Undefined when no transaction could begin: the work was put back by `requeue`, and waits or was rejected. */
  #begin(requeue: () => void): SqliteConnection | undefined {
    try {
      this.#connection ??= this.#options.connect();
      this.#options.begin(this.#connection);
      this.#busySinceMs = undefined;
      return this.#connection;
    } catch (error) {
      requeue();
      const explained = this.#explain(error);
      if (!this.#waitForLock(error)) this.#rejectAll(explained);
      return undefined;
    }
  }

  /** True when another process has the lock: the next pass is scheduled, or everything is rejected after the limit. */
  #waitForLock(error: unknown): boolean {
    if (!sqliteErrorCode(error).startsWith("SQLITE_BUSY")) return false;
    const { clock, busyTimeoutMs } = this.#options;
    this.#busySinceMs ??= clock.monotonic();
    if (clock.monotonic() - this.#busySinceMs >= busyTimeoutMs) {
      this.#busySinceMs = undefined;
      this.#rejectAll(
        new ReceiverError(
          "INBOX_UNAVAILABLE",
          `sqlite inbox: another process kept the file locked for busyTimeoutMs (${busyTimeoutMs})`,
          { cause: error },
        ),
      );
      return true;
    }
    this.#passLater(busyRetryMs);
    return true;
  }

  #passLater(delayMs: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.clock.schedule(delayMs, () => {
      this.#isScheduled = false;
      this.#pass();
    });
  }

  #rejectAll(error: unknown): void {
    for (const each of [...this.#writes.splice(0), ...this.#requests.splice(0)]) each.reject(error);
  }

  /** A transaction that stayed open would make every later one fail; it is closed with its connection. */
  #rollBack(connection: SqliteConnection): void {
    if (!tryRollback(connection)) this.#disconnect();
  }

  /**
   * A connection that was opened on a read-only or missing file stays unusable, and one to a damaged file must not write;
   * the next use opens the file again.
   */
  #explain(error: unknown): unknown {
    if (/^SQLITE_(READONLY|CANTOPEN|IOERR|NOTADB|CORRUPT)/.test(sqliteErrorCode(error))) {
      const explained = this.#options.explain(error);
      this.#disconnect();
      return explained;
    }
    return error;
  }

  #disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (!connection) return;
    // libsql releases the lock of a closed connection only when its statements are garbage collected.
    tryRollback(connection);
    this.#options.disconnect(connection);
  }

  /**
   * Closes the file, which is then complete, once everything queued is written, unless it is in use again by then. A later use
   * opens it again.
   */
  async close(isUsed = () => false): Promise<void> {
    // A turn may have begun right behind the write: drivers end the process when a closed connection is used.
    while (this.#connection) {
      await this.write(() => undefined).catch(() => undefined);
      if (!this.#isExclusive && this.#requests.length === 0) break;
    }
    if (isUsed()) return;
    if (this.#connection) this.#options.checkpoint(this.#connection);
    this.#disconnect();
  }
}

const nextTurnOfTheLoop = () => new Promise<void>((resolve) => void setImmediate(resolve));

// Limits how long one commit blocks the event loop.
const batchMax = 256;
/** Handlers that share a transaction at most. */
const turnsMax = 128;
const gatherTurnsMax = 5;
const busyRetryMs = 5;
const exclusiveMsMax = 200;
/** After that no further handler joins a shared transaction. */
const sharedMsMax = 50;
// A waiting process tries within every 10 ms.
const breakMs = 12;
