// The tables of docs/scale.md: costs per delivery from test/bench/results, and what follows from them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cellOf, type RecordedResult } from "../../test/bench/benchmark.ts";
import { markdownTable } from "../../test/support/documents.ts";

const root = join(import.meta.dirname, "../..");

/** What a delivery costs, and what a rate needs. */
export function scaleTables(): { readonly costs: string; readonly needs: string } {
  const costs = readCosts();
  return { costs: costsTable(costs), needs: needsTable(costs) };
}

/** CPU time per delivery, in µs. */
interface Costs {
  readonly sqlite: number;
  readonly postgres: number;
  readonly postgresServer: number;
  readonly http: number;
  readonly store: number;
  readonly handle: number;
  readonly broker: number;
  /** Kept per delivery. */
  readonly sqliteBytes: number;
  readonly postgresBytes: number;
}

function readCosts(): Costs {
  const [whole, drain, rabbitmq] = ["receiver-delivery-cost", "receiver-drain", "receiver-rabbitmq"].map(
    (name) =>
      JSON.parse(readFileSync(join(root, "test/bench/results", `${name}.json`), "utf8")) as RecordedResult,
  ) as [RecordedResult, RecordedResult, RecordedResult];
  const find = (result: RecordedResult, row: string, column: string, table?: string) => {
    const tables = result.tables.filter(({ columns }) => table === undefined || columns[0] === table);
    return firstNumber(cellOf({ ...result, tables }, row, column));
  };
  const drained = (table: string, column: string) => find(drain, "this kit", column, `PostgreSQL, ${table}`);
  const tier = (row: string) => find(rabbitmq, row, "µs", "each tier");
  const write = drained("one write per event", "server µs") - drained("no write", "server µs");
  return {
    sqlite: find(whole, "SQLite, one process", "µs"),
    postgres: find(whole, "PostgreSQL, one process", "µs"),
    postgresServer: tier("PostgreSQL") + write,
    http: find(rabbitmq, "the RabbitMQ intake", "µs"),
    store: tier("store: from the queue to the inbox"),
    handle: drained("one write per event", "µs"),
    broker: tier("three RabbitMQ nodes together"),
    sqliteBytes: find(whole, "SQLite, one process", "bytes kept"),
    postgresBytes: find(whole, "PostgreSQL, one process", "bytes kept"),
  };
}

/** The first number of a cell such as `72.3 (69.4–75.0)`. */
const firstNumber = (cell: string) => Number.parseFloat(cell.replaceAll(",", ""));

const tensOf = (us: number) => `${(Math.round(us / 5) * 5).toLocaleString("en")} µs`;

function costsTable(costs: Costs): string {
  const [single, drain, rabbitmq] = [
    "[a delivery](benchmarks.md#what-one-delivery-costs)",
    "[draining a backlog](benchmarks.md#draining-a-backlog)",
    "[behind RabbitMQ](benchmarks.md#behind-rabbitmq)",
  ];
  return markdownTable(
    ["deployment", "tier", "CPU time per delivery", "from"],
    [
      ["SQLite", "the whole receiver", tensOf(costs.sqlite), single],
      ["PostgreSQL", "the whole receiver", tensOf(costs.postgres), single],
      ["PostgreSQL, and each shard", "the server", tensOf(costs.postgresServer), `${rabbitmq}, ${drain}`],
      ["RabbitMQ", "HTTP: verify, publish, respond", tensOf(costs.http), rabbitmq],
      ["RabbitMQ", "three nodes together", tensOf(costs.broker), rabbitmq],
      ["RabbitMQ", "store: from the queue to a shard", tensOf(costs.store), rabbitmq],
      ["RabbitMQ", "handle, with one write", tensOf(costs.handle), drain],
    ],
  );
}

const rates = [10, 1_000, 10_000, 100_000] as const;
/** What one process, or one server, is given at most: it must have room for peaks. */
const utilization = 0.5;

/** Cores at half of their capacity. */
function needsTable(costs: Costs): string {
  const cores = (us: number) => (rate: number) => {
    const needed = (rate * us) / 1e6 / utilization;
    if (needed < 0.1) return "< 0.1";
    return needed < 10 ? needed.toFixed(1) : Math.round(needed).toLocaleString("en");
  };
  const perDay = (bytes: number) => (rate: number) => {
    const gigabytes = (rate * bytes * 86_400) / 1e9;
    return gigabytes < 1_000 ? `${Math.round(gigabytes)} GB` : `${(gigabytes / 1_000).toFixed(1)} TB`;
  };
  const shareOfOne = (rate: number) => {
    const share = (rate * costs.sqlite) / 1e6;
    return share > 1 ? "more than all" : `${Math.max(1, Math.round(100 * share))} %`;
  };
  const rows: readonly (readonly [string, (rate: number) => string])[] = [
    ["SQLite: share of the one core that its process uses", shareOfOne],
    ["PostgreSQL: cores of receivers", cores(costs.postgres)],
    ["PostgreSQL: cores of servers", cores(costs.postgresServer)],
    ["RabbitMQ: cores of the HTTP tier", cores(costs.http)],
    ["RabbitMQ: cores of three nodes", cores(costs.broker)],
    ["RabbitMQ: cores that store and handle", cores(costs.store + costs.handle)],
    ["RabbitMQ: cores of the PostgreSQL shards", cores(costs.postgresServer)],
    ["rows per day on SQLite", perDay(costs.sqliteBytes)],
    ["rows per day on PostgreSQL, over all shards", perDay(costs.postgresBytes)],
  ];
  const columns = ["deliveries per second", ...rates.map((rate) => rate.toLocaleString("en"))];
  return markdownTable(
    columns,
    rows.map(([name, needed]) => [name, ...rates.map(needed)]),
    "---:",
  );
}
