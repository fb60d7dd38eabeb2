import { join } from "node:path";
import pg from "pg";
import { type PostgresDatabase, PostgresServer } from "../../test/support/postgres.ts";
import { withFolder } from "../../test/support/with-folder.ts";
import { type Benchmark, type MeasureOptions, measuredFor, type Result } from "../benchmark.ts";
import { type Delivered, deliver, deliveryRequests } from "../deliver.ts";
import { atLeast, times, whole } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { startServer } from "../server-process.ts";
import { medianIn, type Rounds, ratioIn } from "../statistics.ts";

/** A burst: only concurrent deliveries can share a commit. */
const connections = 256;
const receivers = ["kit", "hand-rolled"] as const;
type Receiver = (typeof receivers)[number];
const stores = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;
type Store = keyof typeof stores;

/** How much longer than on this machine's disk, in ms. */
const syncsMs = [0, 1, 3, 10];
/** Disks on which one INSERT per request reaches about 300 deliveries per second on SQLite, and 800 on PostgreSQL. */
const goalSyncMs: Record<Store, number> = { sqlite: 3, postgres: 10 };
const goalName = (store: Store) =>
  `throughput ÷ that of one INSERT per request, ${stores[store]}, a disk that takes ${goalSyncMs[store]} ms`;

export const benchmark: Benchmark = {
  title: "Receiving with a slower disk",
  question: "How much more does the kit receive than one INSERT per request, on a slow disk?",
  answer: (result) =>
    `${measuredFor(result, goalName("sqlite"))} on SQLite (3 ms per sync), ${measuredFor(result, goalName("postgres"))} on PostgreSQL (10 ms)`,
  about:
    `Deliveries of 1 KB per second of wall time, over ${connections} keep-alive connections, acknowledged once they are on disk: this kit, ` +
    "and Express with standardwebhooks and one INSERT per request. Each commit takes the given time longer: on SQLite the thread sleeps, on " +
    "PostgreSQL it is `commit_delay`.",
  notes: [
    "One INSERT per request waits for the disk once per request; this kit once for all requests that arrived meanwhile. PostgreSQL groups the commits of its (here eight) connections itself.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const measured = new Map<string, Rounds<keyof Delivered>>();
  await using postgres = await PostgresServer.start();
  await withFolder(async (folder) => {
    for (const syncMs of syncsMs) {
      await using database = await slowDatabase(postgres, syncMs);
      const urls = { sqlite: join(folder, `${syncMs}`), postgres: database.url };
      for (const store of ["sqlite", "postgres"] as const) {
        measured.set(`${store} ${syncMs}`, await compare(store, urls[store], syncMs, quick));
      }
    }
  });
  const of = (store: Store, syncMs: number) => measured.get(`${store} ${syncMs}`) ?? new Map();
  const gain = (store: Store, syncMs: number) => ratioIn(of(store, syncMs), "kit", "hand-rolled", "wallUs");
  const perSecond = (store: Store, syncMs: number, receiver: Receiver) =>
    whole(1e6 / medianIn(of(store, syncMs), receiver, "wallUs"));
  return {
    goals: (["sqlite", "postgres"] as const).map((store) =>
      atLeast(goalName(store), 5, gain(store, goalSyncMs[store])),
    ),
    tables: (["sqlite", "postgres"] as const).map((store) => ({
      columns: [
        stores[store],
        "this kit, requests/s",
        "one INSERT per request, requests/s",
        "this kit ÷ INSERT",
      ],
      rows: syncsMs.map((syncMs) => [
        syncMs === 0 ? "this disk" : `+ ${syncMs} ms`,
        perSecond(store, syncMs, "kit"),
        perSecond(store, syncMs, "hand-rolled"),
        times(gain(store, syncMs)),
      ]),
    })),
  };
}

/** A database whose commits take that much longer, even a single one. */
async function slowDatabase(server: PostgresServer, syncMs: number): Promise<PostgresDatabase> {
  const database = await server.database();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const name = new URL(database.url).pathname.slice(1);
  await client.query(`ALTER DATABASE ${name} SET commit_siblings = 0`);
  await client.query(`ALTER DATABASE ${name} SET commit_delay = ${syncMs * 1_000}`);
  await client.end();
  return database;
}

async function compare(
  store: Store,
  url: string,
  syncMs: number,
  quick: boolean,
): Promise<Rounds<keyof Delivered>> {
  const start = (receiver: Receiver) => {
    const path = store === "sqlite" ? `${url}-${receiver}.db` : url;
    return startServer("servers/receiver.ts", `${receiver}-${store}`, path, String(syncMs));
  };
  await using kit = await start("kit");
  await using handRolled = await start("hand-rolled");
  const servers = { kit, "hand-rolled": handRolled };
  const counts = {
    kit: quick ? 300 : 5_000,
    // A request that waits for its own commit takes as long as the disk.
    "hand-rolled": quick ? 100 : Math.max(500, Math.round(4_000 / (1 + syncMs))),
  };
  // Awaited here: the servers stop at the end of this block.
  return await inTurns(receivers, { rounds: quick ? 1 : 5, warmUpRounds: 1 }, (receiver, round) => {
    const requests = deliveryRequests(`${receiver}_${round}`, counts[receiver], 1_024);
    return deliver([servers[receiver]], requests, { connections });
  });
}
