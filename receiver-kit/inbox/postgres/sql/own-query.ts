// The inbox's own statements. An application may set the type parsers of `pg` for all clients, for one client, or ask for
// binary values; what the inbox reads must not depend on that.

import {
  lastResult,
  type PostgresClient,
  type PostgresQueryable,
  type PostgresResult,
} from "./postgres-pool.ts";

/** A statement, or without values several; see `lastResult`. */
export async function ownQuery(
  client: PostgresClient,
  text: string,
  values?: readonly unknown[],
): Promise<PostgresResult> {
  const { binary } = client;
  // pg reads binary values as UTF-8, which they are not.
  if (binary) client.binary = false;
  const result = client.query({ text, values, types: ownTypes });
  if (binary) client.binary = binary;
  return result;
}

/** After `first`, in the same message; that has no place for values, which become literals. */
export function ownQueryAfter(first: string, queries: PostgresQueryable): PostgresQueryable {
  return {
    async query(text, values = []) {
      const literals = text.replace(/\$(\d+)/g, (_, place) => literal(values[Number(place) - 1]));
      return lastResult(await queries.query(`${first}; ${literals}`));
    },
  };
}

/** With backslashes whatever `standard_conforming_strings` is. */
const literal = (value: unknown) =>
  typeof value === "string" ? `E'${value.replace(/['\\]/g, "$&$&")}'` : String(value);

const ownTypes = { getTypeParser: (type: number) => parsers[type] ?? toText };
const toText = (value: string) => value;

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
  1016: (value) => (value === "{}" ? [] : value.slice(1, -1).split(",").map(Number)),
};

/** As `bytea_output` says. */
function toBytes(value: string): Buffer {
  if (value.startsWith("\\x")) return Buffer.from(value.slice(2), "hex");
  const decode = (_: string, code: string) =>
    code === "\\" ? code : String.fromCharCode(Number.parseInt(code, 8));
  return Buffer.from(value.replace(/\\(\\|[0-7]{3})/g, decode), "latin1");
}
