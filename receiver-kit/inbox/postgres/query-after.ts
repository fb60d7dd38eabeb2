// A round trip costs as much as a short statement of a handler, and savepoints need one, too. The extended protocol runs
// several statements in one message, which pg has no call for: its query class is extended. Where a client has no such
// class, the statements are sent one after another.

import { ReceiverError } from "../../errors.ts";
import { lastResult, type PostgresClient, type PostgresResult } from "./postgres-pool.ts";

export interface PrecededStatement {
  /** Statements without values that are executed before it. */
  readonly before: readonly string[];
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
}

/** Runs the statements of `before`, which take no values, and then one that may; the first error ends all. */
export async function queryAfter(
  client: PostgresClient,
  before: readonly string[],
  text: string,
  values?: readonly unknown[],
): Promise<PostgresResult> {
  return lastResult(await queryAll(client, [{ before, text, values }]));
}

/** Runs the statements in their order, in one message, and resolves to a result for each; the first error ends all. */
export function queryAll(
  client: PostgresClient,
  statements: readonly PrecededStatement[],
): Promise<readonly PostgresResult[]> {
  const Query = queryClassOf(client);
  const isPlain = statements.length === 1 && statements[0]?.before.length === 0;
  // pg would report it after a part of the message was sent.
  const invalid = statements.find(({ values = [] }) => !Array.isArray(values));
  if (invalid) return Promise.reject(valuesInvalid(invalid.values));
  if (!Query || isPlain) return queryInTurn(client, statements);
  return new Promise((resolve, reject) => {
    let unsent: Error | null = null;
    const queries = statements.map((statement, index) => {
      const isLast = index === statements.length - 1;
      return new Query(toQuery(statement), undefined, (error, results) => {
        unsent ??= error;
        if (!isLast) return;
        if (unsent) reject(unsent);
        else resolve(resultsOf(statements, results));
      });
    });
    const last = queries.at(-1) as Submittable;
    const submitLast = last.submit.bind(last);
    last.submit = (connection) => {
      const withoutSync: Connection = Object.create(connection, { sync: { value() {} } });
      // Otherwise each part would be written to the socket by itself.
      connection.stream?.cork?.();
      try {
        statements.forEach(({ before }, index) => {
          for (const text of before) sendText(connection, text);
          const query = queries[index];
          if (query !== last) query?.submit(withoutSync);
        });
        return submitLast(connection);
      } finally {
        connection.stream?.uncork?.();
      }
    };
    (client.query as unknown as (query: Submittable) => unknown)(last);
  });
}

async function queryInTurn(
  client: PostgresClient,
  statements: readonly PrecededStatement[],
): Promise<readonly PostgresResult[]> {
  const results: PostgresResult[] = [];
  for (const statement of statements) {
    if (statement.before.length > 0) await client.query(statement.before.join("; "));
    results.push(await client.query(toQuery(statement)));
  }
  return results;
}

const valuesInvalid = (values: unknown) =>
  new ReceiverError("ARGUMENT_INVALID", `transaction.query: values: expected an array, got ${typeof values}`);

const toQuery = ({ text, values = [] }: PrecededStatement) =>
  ({ text, values, queryMode: "extended" }) as const;

function sendText(connection: Connection, text: string): void {
  connection.parse({ text, name: "", types: undefined });
  connection.bind({ portal: "", statement: "", values: [], binary: false, valueMapper: String });
  connection.execute({ portal: "", rows: 0 });
}

/** Those of the statements themselves, without those of what precedes them. */
function resultsOf(
  statements: readonly PrecededStatement[],
  results: PostgresResult | readonly PostgresResult[],
): readonly PostgresResult[] {
  const all = [results].flat();
  let count = 0;
  return statements.map(({ before }) => {
    count += before.length + 1;
    return all[count - 1] as PostgresResult;
  });
}

interface Submittable {
  /** Returns an error where nothing was sent. */
  submit(connection: Connection): Error | null;
}

type QueryClass = new (
  query: object,
  values: undefined,
  callback: (error: Error | null, result: PostgresResult | readonly PostgresResult[]) => void,
) => Submittable;

interface Connection {
  readonly stream?: { cork?(): void; uncork?(): void };
  parse(message: object): void;
  bind(message: object): void;
  execute(message: object): void;
}

/** `undefined` for pg-native, and for what is no client of pg. */
function queryClassOf(client: PostgresClient): QueryClass | undefined {
  const { Query } = client.constructor as { Query?: QueryClass };
  const { connection } = client as { connection?: Partial<Connection> };
  const isKnown = connection?.parse && connection.bind && connection.execute;
  return isKnown && typeof Query?.prototype?.submit === "function" ? Query : undefined;
}
