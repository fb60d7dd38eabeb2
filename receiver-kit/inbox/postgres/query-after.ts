// Savepoints cost a round trip each, as much as a short statement of a handler. The extended protocol runs several
// statements in one message, which pg has no call for: its query class is extended. Where a client has no such class, the
// statements are sent one after another.

import { lastResult, type PostgresClient, type PostgresResult } from "./postgres-pool.ts";

/** Runs the statements of `before`, which take no values, and then one that may; the first error ends all. */
export function queryAfter(
  client: PostgresClient,
  before: readonly string[],
  statement: string,
  values: readonly unknown[] = [],
): Promise<PostgresResult> {
  const query = { text: statement, values, queryMode: "extended" } as const;
  if (before.length === 0) return client.query(query);
  const Query = queryClassOf(client);
  if (!Query) return client.query(before.join("; ")).then(() => client.query(query));
  return new Promise((resolve, reject) => {
    const submitted = new Query(query, undefined, (error, result) =>
      error ? reject(error) : resolve(lastResult(result)),
    );
    const submit = submitted.submit.bind(submitted);
    submitted.submit = (connection) => {
      // Otherwise each part would be written to the socket by itself.
      connection.stream?.cork?.();
      try {
        for (const text of before) {
          connection.parse({ text, name: "", types: undefined });
          connection.bind({ portal: "", statement: "", values: [], binary: false, valueMapper: String });
          connection.execute({ portal: "", rows: 0 });
        }
        return submit(connection);
      } finally {
        connection.stream?.uncork?.();
      }
    };
    (client.query as unknown as (query: Submittable) => unknown)(submitted);
  });
}

interface Submittable {
  submit(connection: Connection): unknown;
}

type QueryClass = new (
  query: object,
  values: undefined,
  callback: (error: Error | null, result: PostgresResult) => void,
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
