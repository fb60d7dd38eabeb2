// The transaction of an event, or of a batch, on a client of its own.
//
//   (nothing) ─► begun, with the handler's first query ─► ended: the ends of the rows, and COMMIT, in one write
//
// Nothing of the inbox is locked while the handler runs. The statement that ends the rows fails when a lease was lost or
// something newer was applied meanwhile, and COMMIT behind it then rolls back. An event whose handlers use no transaction
// is ended with others, without one.

import { inSeries } from "@workspace-tasks/kernel/deferred.ts";
import { isReceiverError, ReceiverError } from "../../errors.ts";
import {
  type Boundary,
  boundaryOf,
  controlKeyword,
  controlRejected,
  endedBySql,
  firstWords,
  guarded,
  NestedTransaction,
  transactionEnded,
} from "../handler-transaction.ts";
import type {
  HandlerTransaction,
  InboxClaim,
  InboxFault,
  InboxSettlement,
  InboxSettleOutcome,
  InboxSettling,
} from "../inbox.ts";
import { settledEnd } from "../row-end.ts";
import { beforeEnd, type Call, codeOf, type GuardedClient, unavailable } from "./guarded-pool.ts";
import {
  endCall,
  endCalls,
  isFenced,
  nameLock,
  type PostgresDatabase,
  whyFenced,
} from "./postgres-operations.ts";
import type { PostgresClient, PostgresResult, PostgresRow } from "./postgres-pool.ts";

/** What handlers see as `context.transaction` with the PostgreSQL inbox. */
export interface PostgresTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: its effects are kept if and only if the
   * event is. The transaction is the event's own, READ COMMITTED, and begins with the first query. What is set for a
   * transaction (SET LOCAL, advisory locks, ON COMMIT DROP) ends with it; what is set for a session stays in the pool's
   * client.
   *
   * @throws {ReceiverError} `TRANSACTION_ENDED_BY_SQL` for BEGIN, COMMIT and ROLLBACK, which are not executed; the
   * attempt then fails. SAVEPOINT is allowed.
   */
  query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]>;
  /**
   * The client of `pg` that the transaction runs on, as an ORM takes it. A transaction that is begun on it is a savepoint
   * within that of the event, one at a time; what would end the event's own is rejected as by `query`, and so is every query
   * after the end. `release`, `connect` and `end` do nothing, and a statement with a `name` is not prepared. What is set on it
   * by its methods, such as a type parser or a listener, stays on that client of the pool.
   *
   * @typeParam Client what the ORM wants, such as `pg.PoolClient`: it is one where the pool is of `pg`
   */
  client<Client = PostgresClient>(): Promise<Client>;
}

interface TransactionOptions {
  readonly items: readonly InboxSettling[];
  /** How long a handler may keep the transaction open. */
  readonly timeoutMs: number;
  /** Ends a row without a transaction. */
  settle(claim: InboxClaim, settlement: InboxSettlement): Promise<InboxSettleOutcome>;
}

export class Transaction implements HandlerTransaction<PostgresTransaction> {
  readonly handle: PostgresTransaction = {
    query: (statement, values) => this.#query(statement, values),
    client: <Client>() => this.#client() as Promise<Client>,
  };
  readonly #database: PostgresDatabase;
  readonly #options: TransactionOptions;
  /** What fails leaves none behind it at the client. */
  readonly #series = inSeries();
  #opening: Promise<GuardedClient> | undefined;
  /** The result of BEGIN, which is not waited for before the first statement is sent. */
  #begun: Promise<unknown> | undefined;
  #hasBegun = false;
  #hasEnded = false;
  /** The end was rejected: by a lease, a newer event, or the version of the schema. */
  #isFenced = false;
  /** Why it must not be committed: a handler may catch what its query throws. */
  #failure: Error | undefined;
  /** Why it failed, where that is no fault of its event. */
  fault: InboxFault | undefined;
  #lastFailed: { readonly statement: string; readonly code: string } | undefined;
  #handlerClient: HandlerClient | undefined;
  /** The server's id of it, once a handler has the client, which may send several statements at once. */
  #id: unknown;
  /** The role before a handler has set another one for the transaction. */
  #role: unknown;

  constructor(database: PostgresDatabase, options: TransactionOptions) {
    this.#database = database;
    this.#options = options;
  }

  async #query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]> {
    this.#check(statement);
    return this.#series(async () => {
      const client = await this.#opened();
      this.#check(statement, client.client);
      if (setsRole(statement)) await this.#rememberRole(client);
      const query = {
        text: statement,
        ...(values?.length ? { values } : { queryMode: "extended" as const }),
      };
      return (await this.#watch(client, statement, () => client.client.query(query))).rows;
    });
  }

  async #client(): Promise<PostgresClient> {
    this.#throwIfEnded();
    return this.#series(async () => {
      const client = await this.#opened();
      await this.#begun;
      this.#throwIfEnded();
      // A cursor cannot be used otherwise.
      client.pipeline(false);
      this.#id ??= await readId(client);
      this.#handlerClient ??= createHandlerClient({
        client: client.client,
        series: this.#series,
        check: (statement) => this.#check(statement, client.client),
        checkOpen: () => this.#checkOpen(client.client),
        fail: (error) => this.#fail(error),
        send: async (statement, send) => {
          if (setsRole(statement)) await this.#rememberRole(client);
          return this.#watch(client, statement, send);
        },
      });
      return this.#handlerClient.guarded;
    });
  }

  async #opened(): Promise<GuardedClient> {
    this.#throwIfEnded();
    this.#opening ??= this.#open();
    const client = await this.#opening;
    this.#throwIfEnded();
    return client;
  }

  async #open(): Promise<GuardedClient> {
    const { pool } = this.#database;
    const client = await this.#noteFault(pool.checkOut());
    client.joinWrites();
    this.#begun = this.#noteFault(client.within(client.tell(pool.beginHandler(this.#options.timeoutMs))));
    this.#begun.then(
      () => {
        this.#hasBegun = true;
      },
      () => {},
    );
    if (!client.isPipelined) await this.#begun;
    return client;
  }

  /** Notes which fault of the database the inbox's own work has met. */
  #noteFault<Result>(work: Promise<Result>): Promise<Result> {
    return work.catch((error: unknown) => {
      if (isReceiverError(error, "INBOX_UNAVAILABLE")) this.fault = "connection";
      else this.#noteCode(error);
      throw error;
    });
  }

  /** 40 is a conflict with another transaction, 53100 a full disk, 53200 no memory. */
  #noteCode(error: unknown): void {
    const code = codeOf(error);
    if (code.startsWith("40")) this.fault = "conflict";
    if (code === "53100" || code === "53200") this.fault = "lost";
  }

  /** The result of a handler's statement; the error of BEGIN where that is why it failed. */
  async #watch<Result extends PostgresResult>(
    client: GuardedClient,
    statement: string,
    send: () => Promise<Result>,
  ): Promise<Result> {
    client.waitsSinceMs = this.#database.pool.clock.monotonic();
    try {
      return await send();
    } catch (error) {
      await this.#begun;
      this.#noteCode(error);
      if (/^57P0[1-3]$/.test(codeOf(error))) this.fault = "connection";
      else if (client.isBroken) this.fault = "lost";
      if (!isAborted(error)) this.#lastFailed = { statement, code: codeOf(error) };
      throw this.#explain(error);
    } finally {
      client.waitsSinceMs = undefined;
    }
  }

  #check(statement: string, client?: PostgresClient): void {
    this.#checkOpen(client);
    const keyword = controlKeyword(statement, "postgres");
    if (keyword) this.#fail(controlRejected(keyword));
  }

  #checkOpen(client?: PostgresClient): void {
    // Afterwards the client belongs to another transaction of the pool.
    this.#throwIfEnded();
    // The server would execute and commit each statement after the end by itself.
    if (this.#hasBegun && client?.getTransactionStatus?.() === "I") this.#fail(endedBySql(endings));
  }

  #throwIfEnded(): void {
    if (this.#hasEnded) throw transactionEnded();
  }

  #fail(error: Error): never {
    this.#failure ??= error;
    throw error;
  }

  /** A role that a handler sets for the transaction may not be allowed to use the inbox. */
  async #rememberRole(client: GuardedClient): Promise<void> {
    if (this.#role !== undefined) return;
    const [result] = await client.send("SELECT current_setting('role') AS role");
    this.#role = result?.rows[0]?.["role"];
  }

  async commit(): Promise<InboxSettleOutcome> {
    this.#hasEnded = true;
    if (this.#failure) throw this.#failure;
    this.#handlerClient?.requireEnded();
    if (this.#opening) return this.#end(await this.#opening);
    const [item, ...others] = this.#options.items;
    if (!item) return "settled";
    if (others.length === 0) return this.#options.settle(item.claim, item.settlement);
    return this.#end(await this.#open());
  }

  async #end(client: GuardedClient): Promise<InboxSettleOutcome> {
    const { pool, wake } = this.#database;
    const { items } = this.#options;
    const ends = items.map(({ claim, settlement }) => settledEnd(claim, settlement));
    const [first] = ends;
    const single = first && ends.length === 1 ? endCall(this.#database, first) : undefined;
    const calls = single ? [single] : endCalls(this.#database, ends, true);
    try {
      await this.#begun;
      const hasMore = await this.#noteFault(client.within(this.#sendEnd(client, calls, !single)));
      client.release();
      if (hasMore) for (const source of new Set(items.map(({ claim }) => claim.source))) wake(source);
      return "settled";
    } catch (error) {
      await client.rollBack();
      if (this.#isFenced) return whyFenced(this.#database, ends);
      // What the pooler did not keep is sent as text from now on.
      if (pool.unprepares(error)) throw unavailable("the pooler keeps no prepared statements", error);
      return nameLock(this.#explain(error));
    }
  }

  /** Not the transaction that a statement of the handler has begun after it had ended this one. */
  async #requireOwn(client: GuardedClient): Promise<void> {
    if (client.client.getTransactionStatus?.() === "I") throw endedBySql(endings);
    // One that is aborted says so at the end.
    if (this.#id === undefined || client.client.getTransactionStatus?.() === "E") return;
    if ((await readId(client)) !== this.#id) throw endedBySql(endings);
  }

  /** In one message: when the end of the rows fails, COMMIT is not executed. Whether rows of their keys can be claimed. */
  async #sendEnd(client: GuardedClient, calls: readonly Call[], hasJoins: boolean): Promise<boolean> {
    await this.#requireOwn(client);
    // The role that a handler has set for the transaction may not be allowed to use the inbox.
    if (this.#role !== undefined)
      await client.send("SET LOCAL SESSION AUTHORIZATION DEFAULT", `SET LOCAL ROLE ${this.#role}`);
    const limits = beforeEnd(this.#database.pool.limitMs, hasJoins);
    const texts: string[] = [];
    for (const call of calls) texts.push(await client.textOf(call, (prepare) => [limits, prepare]));
    try {
      return ((await client.tell(limits, ...texts, "COMMIT")).at(-2) ?? 0) > 0;
    } catch (error) {
      this.#isFenced = isFenced(error);
      throw error;
    }
  }

  /** What to report instead of `error`: that the transaction is aborted says nothing about why. */
  #explain(error: unknown): unknown {
    if (!isAborted(error)) return error;
    const { statement, code } = this.#lastFailed ?? { statement: "", code: "" };
    const failed = this.#lastFailed ? `"${firstWords(statement)} …" (SQLSTATE ${code})` : "a statement";
    return new ReceiverError(
      "TRANSACTION_ABORTED",
      `PostgreSQL had aborted the transaction of this event, because ${failed} failed and the handler caught the error; throw it, or run the statement between SAVEPOINT and ROLLBACK TO`,
      { cause: error },
    );
  }

  async rollback(): Promise<void> {
    this.#hasEnded = true;
    const client = await this.#opening?.catch(() => undefined);
    await client?.rollBack();
  }
}

const endings = "a COMMIT or ROLLBACK";

const setsRole = (statement: string) => /\brole\b|authorization/i.test(statement);

/** The transaction is aborted by an earlier error. */
const isAborted = (error: unknown) => codeOf(error) === "25P02";

async function readId(client: GuardedClient): Promise<unknown> {
  const [result] = await client.send("SELECT pg_current_xact_id()::text AS id");
  return result?.rows[0]?.["id"];
}

// The client of `pg` that a handler gets. The inbox alone releases and ends it.

/** An object with a query of its own, such as a cursor or a stream. */
interface Submittable {
  readonly text?: string;
  name?: string | undefined;
  submit(connection: unknown): unknown;
  handleError(error: unknown, connection: unknown): void;
}

interface HandlerClientOptions {
  readonly client: PostgresClient;
  /** Sees each statement right before it is sent. */
  check(statement: string): void;
  /** The same for a savepoint of the inbox. */
  checkOpen(): void;
  /** What makes the attempt fail, also where the handler catches it. */
  fail(error: Error): never;
  /** `pg` deprecates a query during another one. */
  series<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Sends a statement that was checked. */
  send(statement: string, send: () => Promise<PostgresResult>): Promise<PostgresResult>;
}

interface HandlerClient {
  readonly guarded: PostgresClient;
  /** @throws {ReceiverError} `QUERY_NOT_AWAITED` */
  requireEnded(): void;
}

function createHandlerClient(options: HandlerClientOptions): HandlerClient {
  const { client, check, series } = options;
  const nested = new NestedTransaction(options.fail);
  const pass = async (boundary: Boundary): Promise<PostgresResult> => {
    options.checkOpen();
    const statement = nested.statementsOf(boundary).join("; ");
    const results: PostgresResult | readonly PostgresResult[] = await options.send(statement, () =>
      client.query(statement),
    );
    nested.passed(boundary);
    return Array.isArray(results) ? results.at(-1) : results;
  };
  const submit = async (query: Submittable) => {
    try {
      check(query.text ?? "");
      if (query.name !== undefined) query.name = undefined;
      Reflect.apply(client.query, client, [query]);
    } catch (error) {
      query.handleError(error, (client as { readonly connection?: unknown }).connection);
    }
  };
  const send = async ([first, ...rest]: readonly unknown[]): Promise<PostgresResult> => {
    const statement = textOf(first);
    const boundary = boundaryOf(statement, "postgres");
    if (boundary) return pass(boundary);
    check(statement);
    return options.send(statement, () => Reflect.apply(client.query, client, [unnamed(first), ...rest]));
  };
  return {
    guarded: guarded(client, {
      query(...args: unknown[]) {
        const [first] = args;
        if (!isSubmittable(first)) return series(() => send(args));
        void series(() => submit(first));
        return first;
      },
      // Kysely and Knex release after each query.
      release() {},
      async connect() {},
      async end(onEnd?: () => void) {
        onEnd?.();
      },
    }),
    requireEnded: () => nested.requireEnded(),
  };
}

const textOf = (first: unknown) =>
  typeof first === "string" ? first : ((first as { readonly text?: string } | undefined)?.text ?? "");

/** What is prepared by a name would outlive the transaction, in the session and in the memory of `pg`. */
const unnamed = (first: unknown) =>
  (first as { readonly name?: unknown } | undefined)?.name === undefined
    ? first
    : { ...(first as object), name: undefined };

const isSubmittable = (value: unknown): value is Submittable =>
  typeof (value as Partial<Submittable> | null | undefined)?.submit === "function";
