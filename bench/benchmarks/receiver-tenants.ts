import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { PostgresServer } from "../../test/support/postgres.ts";
import { type Benchmark, cellOf, type MeasureOptions, type Result } from "../benchmark.ts";
import { deliver, deliveryRequests } from "../deliver.ts";
import { number, spread, whole } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { startServer } from "../server-process.ts";
import { medianIn, spreadIn } from "../statistics.ts";

const bytes = 700;
const setups = {
  "one receiver, 1 tenant": { kind: "kit-postgres-tenants", tenants: 1 },
  "one receiver, 200 tenants": { kind: "kit-postgres-tenants", tenants: 200 },
  "200 receivers, 1 tenant each": { kind: "kit-postgres-receivers", tenants: 200 },
} as const;
type Setup = keyof typeof setups;
const names = Object.keys(setups) as Setup[];

export const benchmark: Benchmark = {
  title: "Growth: tenants in one process",
  question: "What do 200 tenants cost in one process on a pool of 14 clients?",
  answer: (result) =>
    `${cellOf(result, "one receiver, 200 tenants", "µs")} µs per delivery in one receiver, with one tenant ${cellOf(result, "one receiver, 1 tenant", "µs")} µs`,
  about:
    `One process under Express, 64 connections, PostgreSQL; deliveries of ${bytes} bytes for the tenants in turn, whose handler writes one row. ` +
    "CPU time of the process per delivery and while nothing arrives; deliveries per second of wall time; database connections in use.",
  notes: [
    "200 receivers have a concurrency of 1 and a poll interval of 30 s each; they share the commits and one listening connection.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using postgres = await PostgresServer.start();
  const rounds = await inTurns(names, { rounds: quick ? 1 : 3 }, (name) =>
    receive(name, postgres, quick ? 400 : 2_000),
  );
  const median = (name: Setup, field: "wallUs" | "handledUs") => whole(1e6 / medianIn(rounds, name, field));
  return {
    goals: [],
    tables: [
      {
        columns: [
          "",
          "µs",
          "acknowledged per second",
          "handled per second",
          "idle, % of a core",
          "connections",
        ],
        rows: names.map((name) => [
          name,
          spread(spreadIn(rounds, name, "cpuUs")),
          median(name, "wallUs"),
          median(name, "handledUs"),
          number(medianIn(rounds, name, "idlePercent")),
          `${medianIn(rounds, name, "connectionsIdle")} → ${medianIn(rounds, name, "connections")}`,
        ]),
      },
    ],
  };
}

async function receive(name: Setup, postgres: PostgresServer, count: number) {
  const { kind, tenants } = setups[name];
  await using database = await postgres.database();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await using server = await startServer("servers/receiver.ts", kind, database.url, "0", String(tenants));
    const pathOf = (index: number) => `/webhooks/tenant-${index % tenants}`;
    const warmUp = count / 4;
    const requests = deliveryRequests("tenants", warmUp + count, bytes, Number.POSITIVE_INFINITY, pathOf);
    await deliver([server], requests.slice(0, warmUp), { untilHandled: true });
    const idle = await idleCost(server);
    // The pool closes what is idle for ten seconds.
    await pause(500);
    const connectionsIdle = await connectionsOf(client);
    const delivered = await deliver([server], requests.slice(warmUp), { untilHandled: true });
    return { ...delivered, ...idle, connectionsIdle, connections: await connectionsOf(client) };
  } finally {
    await client.end();
  }
}

async function idleCost(server: { cpuUs(): Promise<number> }): Promise<{ readonly idlePercent: number }> {
  await pause(1_000);
  const before = await server.cpuUs();
  const startedMs = performance.now();
  await pause(4_000);
  const cpuUs = (await server.cpuUs()) - before;
  return { idlePercent: cpuUs / 10 / (performance.now() - startedMs) };
}

/** Of the receiver: all but this client. */
async function connectionsOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    `SELECT count(*) AS count FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  return Number(rows[0].count);
}
