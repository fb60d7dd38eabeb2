// A connection can die without a word: a cable, a NAT table, a machine that lost power. TCP notices after many minutes,
// and a query on it waits that long. So every checkout and every statement of the inbox has one limit, independent of how
// the pool is configured: a client that does not respond within it is destroyed with its socket, and never returned.
//
// AFTER A LOSS. What killed one connection mostly killed all, and a server that was demoted or stopped had all of them. So
// the idle clients of the pool are asked once whether they lead to a server that writes, and destroyed otherwise; those of
// handlers that wait for a response as long as the one that was lost are destroyed, too.
//
// SERVER. It may still execute what the client no longer waits for, and hold locks. So what the inbox executes is a
// transaction of its own, with limits of the server's.
//
// MESSAGES. A transaction of the inbox is one message of the simple protocol, and has one response: BEGIN, its settings,
// the statements, COMMIT. Each message more costs both sides as much as a short statement. Statements are prepared and
// executed by their names, with values as literals (sql-text.ts); behind a pooler that does not keep them, their texts are
// sent. A message ends at its first error, so that nothing is committed then.

import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { inSeries } from "@workspace-tasks/kernel/deferred.ts";
import { isReceiverError, ReceiverError } from "../../errors.ts";
import type { SqlValue } from "../sql/sql-reads.ts";
import type { PostgresClient, PostgresPool, PostgresResult, PostgresRow } from "./postgres-pool.ts";
import type { Statement } from "./postgres-statements.ts";
import { executeText, inlineText, prepareText } from "./sql-text.ts";

/** A statement with its values, in the order of `$1`, `$2` and so on. */
export type Call = readonly [statement: Statement, values: readonly SqlValue[]];

/** `claim`: the commit need not be durable. `insert`: rows are joined to rows, which must not be quadratic. */
export type Purpose = "write" | "claim" | "insert";

export class GuardedPool {
  readonly limitMs: number;
  readonly clock: Clock;
  readonly #pool: PostgresPool;
  readonly #checkedOut: GuardedClient[] = [];
  /** In series: those that one pass has checked out are idle again for the next one. */
  readonly #passes = inSeries();
  #onAllReleased = () => {};
  /** Statements have names, which a pooler may not keep. */
  prepares: boolean;
  /** Whether the server runs on Linux: it then has a limit for a client that does not take its response. */
  #isLinux = false;
  /** Texts that the database cannot encode have escapes in their place. */
  #isAscii = false;

  /** @param limitMs for a client to be available, and again for it to respond */
  constructor(pool: PostgresPool, limitMs: number, prepares: boolean, clock: Clock = systemClock) {
    this.#pool = pool;
    this.limitMs = limitMs;
    this.prepares = prepares;
    this.clock = clock;
  }

  /** Reads what the server can. Before the first transaction. */
  async open(): Promise<void> {
    const [row] = await this.query(
      "SELECT version() AS version, current_setting('server_encoding') AS encoding",
    );
    this.#isLinux = /linux/i.test(String(row?.["version"]));
    // SQL_ASCII stores any bytes, but takes no escapes of characters, which literals have.
    this.#isAscii = row?.["encoding"] !== "UTF8";
  }

  /** Text as the database stores it. */
  encode = (text: string): string =>
    this.#isAscii
      ? text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      : text;

  /** One statement, outside of a transaction. */
  async query(text: string, values: readonly SqlValue[] = []): Promise<readonly PostgresRow[]> {
    return this.#use(this.limitMs, (client) => client.query(text, values));
  }

  /** Executes statements in one transaction, which is one message. */
  async run(
    purpose: Purpose,
    calls: readonly Call[],
    limitMs = this.limitMs,
  ): Promise<readonly PostgresResult[]> {
    const once = () =>
      this.#use(limitMs, async (client) => {
        const texts: string[] = [];
        const begin = beginOwn(purpose, limitMs, this.#isLinux);
        for (const call of calls) {
          texts.push(await client.textOf(call, (prepare) => [begin, prepare, "COMMIT"]));
        }
        const results = await client.send(begin, ...texts, "COMMIT");
        return results.slice(-calls.length - 1, -1);
      });
    try {
      return await once();
    } catch (error) {
      if (!this.unprepares(error)) throw error;
      return once();
    }
  }

  /** Rows of one statement. */
  async rows(purpose: Purpose, call: Call, limitMs?: number): Promise<readonly PostgresRow[]> {
    const [result] = await this.run(purpose, [call], limitMs);
    return result?.rows ?? [];
  }

  /** Executes `work` in one transaction, whose statements have no names; an error rolls back and is thrown. */
  async transaction<Result>(
    work: (client: GuardedClient) => Promise<Result>,
    limitMs = this.limitMs,
  ): Promise<Result> {
    return this.#use(limitMs, async (client) => {
      await client.send(beginOwn("write", limitMs, this.#isLinux));
      const result = await work(client);
      await client.send("COMMIT");
      return result;
    });
  }

  /** Whether an error says that statements cannot be prepared here; from then on none is. */
  unprepares(error: unknown): boolean {
    const isUnprepared = /^(26000|42P05)$/.test(codeOf(error));
    // Statements of others may have been in flight since the first error.
    if (isUnprepared) this.prepares = false;
    return isUnprepared;
  }

  /** Begins the transaction of a handler. */
  beginHandler(timeoutMs: number): string {
    const limitMs = Math.max(1, Math.ceil(timeoutMs));
    return `${begin}; SET LOCAL statement_timeout = ${limitMs}; SET LOCAL idle_in_transaction_session_timeout = ${limitMs}`;
  }

  async #use<Result>(limitMs: number, work: (client: GuardedClient) => Promise<Result>): Promise<Result> {
    const client = await this.checkOut(limitMs);
    try {
      const result = await client.within(work(client), limitMs);
      client.release();
      return result;
    } catch (error) {
      await client.rollBack();
      throw error;
    }
  }

  async checkOut(limitMs = this.limitMs): Promise<GuardedClient> {
    const client = new GuardedClient(this, await connectWithin(this.#pool, limitMs, this.clock));
    this.#checkedOut.push(client);
    return client;
  }

  /** A checkout is over. */
  onReleased(client: GuardedClient): void {
    this.#checkedOut.splice(this.#checkedOut.indexOf(client), 1);
    if (this.#checkedOut.length === 0) this.#onAllReleased();
  }

  /** @param silentForMs a client did not respond for that long; `undefined`: the server ended it, or cannot write any more */
  onLost(silentForMs: number | undefined): void {
    if (silentForMs !== undefined) {
      const beforeMs = this.clock.monotonic() - silentForMs;
      for (const each of [...this.#checkedOut])
        if (each.waitsSinceMs !== undefined && each.waitsSinceMs <= beforeMs) each.release(true);
    }
    void this.#checkIdle();
  }

  /** Checks out as many clients as the pool has idle ones, all at once, and destroys those that cannot be used. */
  #checkIdle(): Promise<void> {
    return this.#passes(async () => {
      const count = Math.min(
        idleMax,
        Number((this.#pool as { readonly idleCount?: unknown }).idleCount ?? 0),
      );
      // Another user of the pool may take them first.
      const check = async () => {
        const client = await connectWithin(this.#pool, checkLimitMs, this.clock);
        await requireWritable(client, checkLimitMs, this.clock).then(
          () => client.release(),
          () => destroy(client),
        );
      };
      await Promise.allSettled(Array.from({ length: count }, check));
    });
  }

  /** Destroys the clients that are still checked out and those of the pool that do not respond. */
  async close(): Promise<void> {
    if (this.#checkedOut.length > 0) {
      const released = new Promise<void>((resolve) => {
        this.#onAllReleased = resolve;
      });
      await limited(released, checkLimitMs, this.clock, () => unavailable("closed")).catch(() => undefined);
    }
    for (const each of [...this.#checkedOut]) each.release(true);
    await this.#checkIdle();
  }
}

/** The names of the statements that a client has prepared in its session. */
const preparedOn = new WeakMap<PostgresClient, Set<string>>();

/** A client checked out of the pool. */
export class GuardedClient {
  /** For statements of handlers. */
  readonly client: PostgresClient;
  readonly #pool: GuardedPool;
  readonly #canPipeline: boolean;
  #isReleased = false;
  /** Since when a handler has been waiting for the response to its statement, in monotonic time. */
  waitsSinceMs: number | undefined;

  constructor(pool: GuardedPool, client: PostgresClient) {
    this.client = client;
    this.#pool = pool;
    watchClient(client);
    // Older versions of pg, and clients that wrap another driver, have no such switch.
    this.#canPipeline = (client as PipeliningClient).pipeline === false;
    this.pipeline(true);
  }

  /** Statements are sent before the results of those before them have come. */
  get isPipelined(): boolean {
    return this.#canPipeline && (this.client as PipeliningClient).pipeline === true;
  }

  /** Switches that, where `pg` can, while no result is awaited. It is on at the beginning. */
  pipeline(isOn: boolean): void {
    if (!this.#canPipeline || this.isPipelined === isOn) return;
    try {
      (this.client as PipeliningClient).pipeline = isOn;
    } catch {
      // A listener of the pool has sent something.
    }
  }

  /** No statement can succeed on it. */
  get isBroken(): boolean {
    return broken.has(this.client);
  }

  /** Statements without values, in one message; their results. */
  async send(...texts: readonly string[]): Promise<readonly PostgresResult[]> {
    const { client } = this;
    const { binary } = client;
    // pg reads binary values as UTF-8, which they are not.
    if (binary) client.binary = false;
    const sent = client.query({ text: texts.join("; "), types: ownTypes });
    if (binary) client.binary = binary;
    const results: PostgresResult | readonly PostgresResult[] = await sent;
    return Array.isArray(results) ? results : [results];
  }

  /** The same, of which no row is read: how many rows each statement had. It costs half. */
  async tell(...texts: readonly string[]): Promise<readonly number[]> {
    const results: PostgresResult | readonly PostgresResult[] = await this.client.query(texts.join("; "));
    return (Array.isArray(results) ? results : [results]).map(({ rowCount }) => rowCount ?? 0);
  }

  /** The text that executes a statement, which is prepared first, in a message with these limits of the server's. */
  async textOf([statement, values]: Call, limits: (prepare: string) => readonly string[]): Promise<string> {
    const { encode, prepares } = this.#pool;
    if (statement.name === "" || !prepares) return inlineText(statement.text, values, encode);
    const prepared = preparedOn.get(this.client) ?? new Set<string>();
    preparedOn.set(this.client, prepared);
    if (!prepared.has(statement.name)) {
      await this.send(...limits(prepareText(statement)));
      prepared.add(statement.name);
    }
    return executeText(statement, values, encode);
  }

  /** Rows of a statement that has no name. */
  async query(text: string, values: readonly SqlValue[]): Promise<readonly PostgresRow[]> {
    const results = await this.send(inlineText(text, values, this.#pool.encode));
    return results.at(-1)?.rows ?? [];
  }

  /** What is sent before the next tick leaves in one write. */
  joinWrites(): void {
    const { connection } = this.client as { connection?: { readonly stream?: Corked } };
    const { stream } = connection ?? {};
    if (!stream?.cork) return;
    stream.cork();
    process.nextTick(() => stream.uncork?.());
  }

  /** Settles as `work` does; when that takes longer than the limit, destroys the client and rejects. */
  async within<Result>(work: Promise<Result>, limitMs = this.#pool.limitMs): Promise<Result> {
    try {
      const result = await limited(work, limitMs, this.#pool.clock, () => {
        this.release(true);
        this.#pool.onLost(limitMs);
        return unavailable(
          `no response in ${limitMs} ms (queryTimeoutMs is ${this.#pool.limitMs}), outcome unknown`,
        );
      });
      if (unreplicated.delete(this.client))
        throw unavailable("the wait for a standby was cancelled, so a commit may be on the primary only");
      return result;
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** What an error of the connection, and not of a statement, says in words of the inbox. */
  #explain(error: unknown): unknown {
    if (isReceiverError(error) || isOfStatement(error)) return error;
    if (!this.#isReleased) this.#pool.onLost(undefined);
    broken.add(this.client);
    const what = codeOf(error) === "25006" ? "the connection only reads" : "the connection was lost";
    return unavailable(`${what}: ${(error as Error)?.message ?? error}`, error);
  }

  /** Returns the client to the pool, once; a client that had an error, or with `mustDestroy`, is closed instead. */
  release(mustDestroy = false): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    if (mustDestroy) broken.add(this.client);
    this.#pool.onReleased(this);
    if (!this.isBroken) this.pipeline(false);
    if (this.isBroken || this.isPipelined) destroy(this.client);
    else this.client.release();
  }

  /** Rolls back, then releases; destroys the client when that fails or takes long. Never rejects. */
  async rollBack(): Promise<void> {
    if (this.#isReleased) return;
    // What was sent behind a statement that failed has been executed or rejected when this has.
    const rolledBack = this.isBroken ? Promise.reject(unavailable("lost")) : this.send("ROLLBACK");
    const late = () => unavailable("no response to ROLLBACK");
    await limited(rolledBack, rollbackLimitMs, this.#pool.clock, late).then(
      () => this.release(),
      () => this.release(true),
    );
  }
}

/** Whatever the default of the database is: stricter levels reject what other workers do at the same time. */
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED";

/** For the end of a row, in the transaction of a handler: the plan of that statement, and no long wait for a lock. */
export function beforeEnd(limitMs: number, hasJoins: boolean): string {
  const off = ["enable_seqscan", "jit", ...(hasJoins ? withoutOtherJoins : [])];
  return setLocal({
    lock_timeout: lockLimit(limitMs),
    ...settingsOff(off),
    ...(hasJoins ? { plan_cache_mode: "force_generic_plan" } : {}),
  });
}

const withoutOtherJoins = ["enable_hashjoin", "enable_mergejoin"];

/**
 * Before version 18 a scan that is off has a price so high that the server compiles the statement (`jit`) each time that it
 * is executed, which takes a second: who turns scans off turns this off.
 */
const settingsOff = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, "off"]));

const setLocal = (settings: Readonly<Record<string, string | number>>) =>
  Object.entries(settings)
    .map(([name, value]) => `SET LOCAL ${name} = ${value}`)
    .join("; ");

const lockLimit = (limitMs: number) => Math.max(1, Math.ceil(Math.min(2_000, limitMs * lockPart)));

function beginOwn(purpose: Purpose, limitMs: number, isLinux: boolean): string {
  const serverMs = Math.max(1, Math.ceil(limitMs * serverPart));
  const joins = purpose === "insert" ? ["enable_nestloop"] : withoutOtherJoins;
  const settings = {
    statement_timeout: serverMs,
    idle_in_transaction_session_timeout: serverMs,
    lock_timeout: lockLimit(limitMs),
    // The server holds the locks of a claim until it has sent the response: to a dead client for minutes.
    ...(isLinux && purpose === "claim" ? { tcp_user_timeout: 5_000 } : {}),
    ...(purpose === "claim" ? { synchronous_commit: "off" } : { array_nulls: "on" }),
    ...settingsOff(["enable_seqscan", "jit", ...joins]),
    plan_cache_mode: "force_generic_plan",
  };
  return `${begin}; ${setLocal(settings)}`;
}

/** The part of the client's limit after which the server ends the work itself, so that the client survives. */
const serverPart = 0.9;
const lockPart = 0.4;
const rollbackLimitMs = 1_000;
const checkLimitMs = 500;
/** A pool of another package may return any number. */
const idleMax = 1_000;

function connectWithin(pool: PostgresPool, limitMs: number, clock: Clock): Promise<PostgresClient> {
  const message = `no client of the pool was available within ${limitMs} ms: the server does not respond, or the pool's max is too small`;
  const connecting = pool.connect().then(requirePoolClient);
  return availableWithin(connecting, limitMs, clock, message).catch((error: unknown) => {
    if (isReceiverError(error)) throw error;
    throw unavailable(`no connection: ${(error as Error)?.message || codeOf(error)}`, error);
  });
}

/** A `Client` of pg can connect too, once, and returns itself or nothing. */
function requirePoolClient(client: PostgresClient): PostgresClient {
  if (typeof (client as Partial<PostgresClient> | undefined)?.release === "function") return client;
  throw new ReceiverError(
    "CONFIGURATION_INVALID",
    "postgresInbox: pool: expected a Pool of the package pg, got what connects only once, such as a Client; pass new pg.Pool(…)",
  );
}

/** A client that arrives after the limit is returned to its pool at once. */
export function availableWithin(
  connecting: Promise<PostgresClient>,
  limitMs: number,
  clock: Clock,
  message: string,
): Promise<PostgresClient> {
  return limited(connecting, limitMs, clock, () => {
    connecting.then(
      (client) => client.release(),
      () => {},
    );
    return unavailable(message);
  });
}

/** Rejects when the server only reads, or does not respond within the limit. */
export async function requireWritable(client: PostgresClient, limitMs: number, clock: Clock): Promise<void> {
  const text = "SELECT current_setting('transaction_read_only') AS read_only";
  const asked = client.query({ text, types: ownTypes });
  const { rows } = await limited(asked, limitMs, clock, () =>
    unavailable(`no response within ${limitMs} ms`),
  );
  if (rows[0]?.["read_only"] === "on") throw unavailable("the server is read-only");
}

/** Rejects with the error of `onLimit` when `work` takes longer than the limit. */
function limited<Result>(
  work: Promise<Result>,
  limitMs: number,
  clock: Clock,
  onLimit: () => Error,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    // The response may already be in the socket, when it was this process that was busy.
    const cancel = clock.schedule(limitMs, () => {
      const late = setImmediate(() => reject(onLimit()));
      const keep = () => clearImmediate(late);
      work.then(keep, keep);
    });
    work.then(
      (result) => {
        cancel();
        resolve(result);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

/** `release(true)` alone says goodbye and waits for the answer, with the socket open, when no query is in progress. */
export function destroy(client: PostgresClient): void {
  client.release(true);
  const { connection } = client as { connection?: { readonly stream?: { destroy?(): unknown } } };
  connection?.stream?.destroy?.();
}

interface Corked {
  cork?(): void;
  uncork?(): void;
}

interface PipeliningClient extends PostgresClient {
  pipeline?: unknown;
}

/** The SQLSTATE of a server's error, or a code of Node; empty where there is none. */
export const codeOf = (error: unknown) => String((error as { code?: unknown } | null)?.code ?? "");

/** An error that the server reported and that leaves its connection usable and writable. */
function isOfStatement(error: unknown): boolean {
  const code = codeOf(error);
  return /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P|25006)/.test(code);
}

/** A fault of the inbox's connection, which says nothing about the event. */
export const unavailable = (message: string, cause?: unknown) =>
  new ReceiverError("INBOX_UNAVAILABLE", `postgres inbox: ${message}`, cause === undefined ? {} : { cause });

const watched = new WeakSet<PostgresClient>();
const broken = new WeakSet<PostgresClient>();
const unreplicated = new WeakSet<PostgresClient>();

/**
 * An `error` event without a listener would end the process. A commit whose wait for its synchronous standbys is cancelled
 * succeeds, with a warning, and would be lost with the primary. The warning has no code of its own and its text is
 * translated; the function that it comes from is not.
 */
function watchClient(client: PostgresClient): void {
  if (watched.has(client)) return;
  watched.add(client);
  client.on("error", () => void broken.add(client));
  client.on("notice", (notice) => {
    if (notice?.routine === "SyncRepWaitForLSN") unreplicated.add(client);
  });
}

/**
 * An application may set the type parsers of `pg` for all clients, for one client, or ask for binary values; what the
 * inbox reads must not depend on that.
 */
const ownTypes = { getTypeParser: (type: number) => parsers[type] ?? toText };
const toText = (value: string) => value;
const toNumbers = (value: string) => (value === "{}" ? [] : value.slice(1, -1).split(",").map(Number));

/** By the number of the type: `pg_type.oid`, which is the same on every server. */
const parsers: Readonly<Record<number, (value: string) => unknown>> = {
  /** boolean */
  16: (value) => value === "t",
  /** bytea */
  17: toBytes,
  /** bigint */
  20: Number,
  /** smallint */
  21: Number,
  /** integer */
  23: Number,
  /** bigint[] */
  1016: toNumbers,
};

/** As `bytea_output` says. */
function toBytes(value: string): Buffer {
  if (value.startsWith("\\x")) return Buffer.from(value.slice(2), "hex");
  const decode = (_: string, code: string) =>
    code === "\\" ? code : String.fromCharCode(Number.parseInt(code, 8));
  return Buffer.from(value.replace(/\\(\\|[0-7]{3})/g, decode), "latin1");
}
