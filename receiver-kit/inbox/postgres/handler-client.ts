// The client of `pg` that a handler gets. The inbox alone releases and ends it, and what a handler sets on it, or on its
// parsers and listeners, is taken back with the transaction.

import { type Boundary, boundaryOf, guarded, NestedTransaction } from "../handler-transaction.ts";
import type { PostgresClient, PostgresResult } from "./postgres-pool.ts";

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

type Undo = () => void;

export interface HandlerClient {
  readonly guarded: PostgresClient;
  /** @throws {ReceiverError} `QUERY_NOT_AWAITED` */
  requireEnded(): void;
  /** Takes back what was set. */
  restore(): void;
}

export function createHandlerClient(options: HandlerClientOptions): HandlerClient {
  const { client, check, series } = options;
  const undo: Undo[] = [listenersOf(client)];
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
      setTypeParser(oid: number, ...format: unknown[]) {
        const parsing = client as PostgresClient & ParsingClient;
        undo.push(parserOf(parsing, oid, format));
        return parsing.setTypeParser?.(oid, ...format);
      },
    }),
    requireEnded: () => nested.requireEnded(),
    restore() {
      for (const each of undo.splice(0).reverse()) each();
    },
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

interface ParsingClient {
  getTypeParser?(oid: number, format: unknown): unknown;
  setTypeParser?(oid: number, ...format: unknown[]): unknown;
}

function parserOf(client: ParsingClient, oid: number, [given]: readonly unknown[]): Undo {
  const format = typeof given === "string" ? given : "text";
  const parser = client.getTypeParser?.(oid, format);
  return () => client.setTypeParser?.(oid, format, parser);
}

/** Removes those that are added later. */
function listenersOf(client: PostgresClient): Undo {
  const emitter = client as Partial<NodeJS.EventEmitter>;
  const names = () => emitter.eventNames?.() ?? [];
  const of = (name: string | symbol) => emitter.rawListeners?.(name) ?? [];
  const before = new Set(names().flatMap(of));
  return () => {
    for (const name of names()) {
      for (const listener of of(name))
        if (!before.has(listener)) emitter.removeListener?.(name, listener as () => void);
    }
  };
}
