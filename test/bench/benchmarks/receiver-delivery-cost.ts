import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import pg from "pg";
import { PostgresServer } from "../../support/postgres.ts";
import { withFolder } from "../../support/with-folder.ts";
import {
  type Benchmark,
  cellOf,
  type MeasureOptions,
  number,
  type Result,
  spread,
  tableOf,
  whole,
} from "../benchmark.ts";
import { deliver, deliveryRequests } from "../deliver.ts";
import { type ServerProcess, startServer } from "../processes.ts";
import { inTurns, medianIn, spreadIn } from "../statistics.ts";

const bytes = 700;
const setups = {
  "SQLite, one process": { store: "sqlite", processes: 1 },
  "PostgreSQL, one process": { store: "postgres", processes: 1 },
  "PostgreSQL, two processes": { store: "postgres", processes: 2 },
} as const;
type Setup = keyof typeof setups;
const names = Object.keys(setups) as Setup[];

export const benchmark: Benchmark = {
  title: "What one delivery costs",
  question: "What does a delivery cost, from the request to the committed write of its handler?",
  answer: (result) =>
    `${cellOf(result, "SQLite, one process", "µs")} µs on SQLite, ${cellOf(result, "PostgreSQL, one process", "µs")} µs on PostgreSQL`,
  about:
    `Receivers under Express, each with 64 connections; deliveries of ${bytes} bytes, each of another task, whose handler writes one row. ` +
    "CPU time of all receiver processes and growth of the database per delivery; deliveries per second of wall time. " +
    "[Scale](scale.md) extrapolates from it.",
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using postgres = await PostgresServer.start();
  const rounds = await inTurns(names, { rounds: quick ? 1 : 5 }, (name) =>
    withFolder((folder) => receive(folder, name, postgres, quick ? 300 : 5_000)),
  );
  const perSecond = (name: Setup, field: "wallUs" | "handledUs") =>
    whole(1e6 / medianIn(rounds, name, field));
  return {
    goals: [],
    tables: [
      tableOf(["", "µs", "bytes kept", "acknowledged per second", "handled per second"], names, (name) => [
        name,
        spread(spreadIn(rounds, name, "cpuUs")),
        number(medianIn(rounds, name, "bytesKept")),
        perSecond(name, "wallUs"),
        perSecond(name, "handledUs"),
      ]),
    ],
  };
}

async function receive(folder: string, name: Setup, postgres: PostgresServer, count: number) {
  const { store, processes } = setups[name];
  await using database = await postgres.database();
  const url = store === "sqlite" ? join(folder, "inbox.db") : database.url;
  const servers: ServerProcess[] = [];
  try {
    while (servers.length < processes) {
      servers.push(await startServer("servers/receiver.ts", `kit-${store}-writing`, url));
    }
    const warmUp = count / 5;
    const requests = deliveryRequests("cost", warmUp + count, bytes);
    await deliver(servers, requests.slice(0, warmUp), { untilHandled: true });
    const bytesBefore = await bytesIn(url);
    const delivered = await deliver(servers, requests.slice(warmUp), { untilHandled: true });
    return { ...delivered, bytesKept: ((await bytesIn(url)) - bytesBefore) / count };
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

async function bytesIn(url: string): Promise<number> {
  if (!url.startsWith("postgres:")) {
    const database = new Database(url);
    database.pragma("wal_checkpoint(TRUNCATE)");
    database.close();
    return statSync(url).size;
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("SELECT pg_database_size(current_database()) AS bytes");
  await client.end();
  return Number(rows[0].bytes);
}
