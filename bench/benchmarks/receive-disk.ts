import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type PostgresDatabase, PostgresServer } from "../../test/support/postgres.ts";
import type { Measure } from "../finding.ts";
import { httpRequest, sendAll } from "../load.ts";
import { sampleBody, signDelivery } from "../sample-delivery.ts";
import { type Spread, spreadOf } from "../samples.ts";
import { ServerProcess } from "../server-process.ts";
import { atLeast, times, whole } from "../words.ts";

/** A burst. Commits can be shared only by what comes at the same time. */
const connections = 256;
const stores = ["sqlite", "postgres"] as const;
type Store = (typeof stores)[number];
const storeNames: Record<Store, string> = { sqlite: "SQLite", postgres: "PostgreSQL" };

/** How much longer than this machine's own disk, in ms. */
const syncsMs = [0, 1, 3, 10];
/** Disks on which one INSERT per request manages about 300 deliveries a second on SQLite, and 800 on PostgreSQL. */
const goalSyncMs: Record<Store, number> = { sqlite: 3, postgres: 10 };

type Pair = { readonly kit: number; readonly plain: number };

export const measure: Measure = async ({ quick }) => {
  const found = new Map<string, readonly Pair[]>();
  const keyOf = (store: Store, syncMs: number) => `${store} ${syncMs}`;
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-disk-"));
  await using postgres = await PostgresServer.start();
  try {
    for (const syncMs of syncsMs) {
      await using database = await slowDatabase(postgres, syncMs);
      const urls = { sqlite: join(folder, `${syncMs}`), postgres: database.url };
      for (const store of stores)
        found.set(keyOf(store, syncMs), await compare(store, urls[store], syncMs, quick));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const of = (store: Store, syncMs: number) => found.get(keyOf(store, syncMs)) ?? [];
  const gain = (store: Store, syncMs: number): Spread =>
    spreadOf(of(store, syncMs).map(({ kit, plain }) => kit / plain));
  const median = (store: Store, syncMs: number, who: keyof Pair) =>
    spreadOf(of(store, syncMs).map((pair) => pair[who])).median;
  return {
    title: "Receiving, by how fast the disk is",
    about:
      `Deliveries of 1 KB per second of the wall, over ${connections} keep-alive connections, answered once they are on disk: this kit, ` +
      "which writes together what comes together, and Express with standardwebhooks and one INSERT per request. Each commit " +
      "takes so much longer than on this machine, whose own disk answers within a fraction of a millisecond: on SQLite the " +
      "thread sleeps after it, on PostgreSQL it is the setting `commit_delay`.",
    goals: stores.map((store) =>
      atLeast(
        `throughput ÷ that of one INSERT per request, ${storeNames[store]}, a disk that takes ${goalSyncMs[store]} ms`,
        5,
        gain(store, goalSyncMs[store]),
      ),
    ),
    tables: stores.map((store) => ({
      columns: [
        storeNames[store],
        "this kit, requests/s",
        "one INSERT per request, requests/s",
        "this kit ÷ INSERT",
      ],
      rows: syncsMs.map((syncMs) => [
        syncMs === 0 ? "this disk" : `+ ${syncMs} ms`,
        whole(median(store, syncMs, "kit")),
        whole(median(store, syncMs, "plain")),
        times(gain(store, syncMs)),
      ]),
    })),
    notes: [
      "On SQLite one INSERT per request waits for the disk once per request, whatever else is to be done; this kit waits once for all that came meanwhile. What is left of its time is Express, so that it hardly slows down. PostgreSQL writes the commits of its connections together by itself, here of eight; more connections would bring it nearer, at the price of as many server processes. The kit has two commits under way at most, with up to 256 deliveries each.",
    ],
  };
};

/** A database whose commits wait for the disk that much longer, however few they are. */
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

async function compare(store: Store, url: string, syncMs: number, quick: boolean): Promise<readonly Pair[]> {
  const start = (kind: string) =>
    ServerProcess.start("servers/receiver.ts", [
      kind,
      store === "sqlite" ? `${url}-${kind}.db` : url,
      String(syncMs),
    ]);
  await using kit = await start(`kit-${store}`);
  await using plain = await start(`hand-rolled-${store}`);
  const pairs: Pair[] = [];
  for (let round = -1; round < (quick ? 1 : 5); round++) {
    const pair = {
      kit: await perSecond(kit, quick ? 300 : 5_000, `kit_${round}`),
      // Seconds of waiting for the disk, when each request waits for itself.
      plain: await perSecond(
        plain,
        quick ? 100 : Math.max(500, Math.round(4_000 / (1 + syncMs))),
        `plain_${round}`,
      ),
    };
    if (round >= 0) pairs.push(pair);
  }
  return pairs;
}

async function perSecond(server: ServerProcess, count: number, name: string): Promise<number> {
  const requests = Array.from({ length: count }, (_, index) => {
    const { headers, body } = signDelivery(`msg_${name}_${index}`, sampleBody(1_024, index));
    return httpRequest("/webhooks", headers, body);
  });
  const { wallMs } = await sendAll(server.port, requests, connections);
  return (count / wallMs) * 1_000;
}
