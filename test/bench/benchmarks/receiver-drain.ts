import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { type PostgresDatabase, PostgresServer } from "../../support/postgres.ts";
import { type Benchmark, type MeasureOptions, measuredFor, type Result, type Table } from "../benchmark.ts";
import { type Drained, type DrainOptions, drain, type ServerUse } from "../drain/drain.ts";
import { atLeast, atMost, spread, whole } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { serverCpuUs } from "../server-cpu.ts";
import { medianIn, type Rounds, ratioIn, scaled, spreadIn } from "../statistics.ts";

const contenders = {
  postgres: [
    "kit-postgres",
    "graphile-worker",
    "graphile-worker, local queue",
    "pg-boss",
    "pg-boss, transactional",
  ],
  sqlite: ["kit-sqlite", "plainjob", "plainjob, synchronous=NORMAL"],
} as const;
type Store = keyof typeof contenders;
/** What sharing a transaction saves, and what resets of the session cost. */
const writersOnly = {
  postgres: ["kit-postgres, a transaction for each event", "kit-postgres, sessions not reset"],
  sqlite: [],
} as const;
const contendersOf = (store: Store, writes: boolean): readonly string[] =>
  writes ? [...contenders[store], ...writersOnly[store]] : contenders[store];
type Drains = Rounds<keyof Drained>;

const storeNames = { postgres: "PostgreSQL", sqlite: "SQLite" } as const;
const events = { postgres: 16_000, sqlite: 8_000 } as const;
const backlogs = [1_000, 10_000, 100_000, 1_000_000];
const processCounts = [1, 2, 4];

const goals = {
  local: "PostgreSQL, no write ÷ graphile-worker's local queue",
  write: "PostgreSQL, one write ÷ the fastest of the others",
  sqlite: "SQLite, no write ÷ plainjob with synchronous=FULL",
  sqliteWrite: "SQLite, one write ÷ plainjob with synchronous=FULL",
  bytes: "SQLite, one write: KB written per event",
  slow: "PostgreSQL, one write: one handler of 5,000 takes 150 ms ÷ none does",
  failing: "PostgreSQL, one write: 2 % of 5,000 fail once ÷ none does",
  growth: (store: Store) =>
    `cost per event beside ${whole(backlogs.at(-1) ?? 0)} waiting rows ÷ beside 1,000, ${storeNames[store]}, no statistics`,
} as const;

export const benchmark: Benchmark = {
  title: "Draining a backlog",
  question: "How fast is a backlog handled, beside job queues that guarantee less?",
  answer: (result) =>
    `PostgreSQL ${measuredFor(result, goals.local)} of graphile-worker's local queue, with a write ${measuredFor(result, goals.write)} of the fastest other queue; SQLite ${measuredFor(result, goals.sqlite)} and ${measuredFor(result, goals.sqliteWrite)} of plainjob`,
  about:
    "One process with 16 handlers at a time handles events of 1 KB, five of each task; the handlers do nothing or write one row. This kit keeps the order " +
    "of each task, and a write if and only if the event is settled. The others run jobs in any order here, and repeat a write after a crash, but for pg-boss with transactional workers, whose transaction is that of a batch of 50 jobs: one that fails repeats all.",
  notes: [
    "graphile-worker: a local queue of 500 jobs, completions batched without a delay. pg-boss: 16 workers that fetch 50 jobs each, without a pause while batches are full. plainjob: one worker on libsql, with `synchronous=NORMAL`, which may lose what it has acknowledged.",
    "What isolation costs: statements that are known to leave nothing in the session, as here, share a round trip with those of other events, and nothing is reset. After other statements the session is reset within the shared transaction, so that the next handler sees none of its settings: that takes the server about 40 µs and a part of a round trip. The last two rows of the table with one write per event share no transaction.",
    "µs: CPU time per event, of the process and of all server processes. Bytes: of the write-ahead log on PostgreSQL, of write calls on SQLite. The largest backlog is drained once, the others three times.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-drain-"));
  await using postgres = await PostgresServer.start();
  const stores = new BacklogStores(postgres, folder);
  try {
    const rounds = { rounds: quick ? 1 : 3, warmUpRounds: quick ? 0 : 1 };
    const compare = async (store: Store, writes: boolean): Promise<Drains> =>
      await inTurns<string, Drained>(contendersOf(store, writes), rounds, (name) =>
        stores.drain(store, name, { writes, events: quick ? 500 : events[store] }),
      );
    const plain = { postgres: await compare("postgres", false), sqlite: await compare("sqlite", false) };
    const writing = { postgres: await compare("postgres", true), sqlite: await compare("sqlite", true) };
    const troubles = await measureTroubles(stores, quick);
    const growth = await measureGrowth(stores, quick);
    const processes = await measureProcesses(stores, quick);
    const kitTo = (drains: Drains, ours: string, other: string) => ratioIn(drains, ours, other, "wallUs");
    return {
      goals: [
        atLeast(goals.local, 0.75, kitTo(plain.postgres, "kit-postgres", "graphile-worker, local queue")),
        atLeast(goals.write, 1.3, kitTo(writing.postgres, "kit-postgres", fastestPeer(writing.postgres))),
        atLeast(goals.sqlite, 5, kitTo(plain.sqlite, "kit-sqlite", "plainjob")),
        atLeast(goals.sqliteWrite, 5, kitTo(writing.sqlite, "kit-sqlite", "plainjob")),
        atMost(
          goals.bytes,
          20,
          scaled(spreadIn(writing.sqlite, "kit-sqlite", "bytesWritten"), 1 / 1_000),
          "KB",
        ),
        ...troubles.goals,
        ...growth.goals,
      ],
      tables: [
        ...(["postgres", "sqlite"] as const).flatMap((store) => [
          comparison(store, false, plain[store]),
          comparison(store, true, writing[store]),
        ]),
        troubles.table,
        growth.table,
        processes,
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const fastestPeer = (drains: Drains) => byWallTime(contenders.postgres.slice(1), drains)[0] ?? "";

/** The fastest first. */
const byWallTime = (names: readonly string[], drains: Drains) =>
  names.toSorted((a, b) => medianIn(drains, a, "wallUs") - medianIn(drains, b, "wallUs"));

function comparison(store: Store, writes: boolean, drains: Drains): Table {
  const fields = [
    ["perSecond", "events/s"],
    ["cpuUs", "µs"],
    ...(store === "postgres"
      ? ([
          ["serverCpuUs", "server µs"],
          ["commits", "commits"],
        ] as const)
      : []),
    ["bytesWritten", "bytes written"],
  ] as const;
  const cells = (name: string) => fields.map(([field]) => spread(spreadIn(drains, name, field)));
  return {
    columns: [
      `${storeNames[store]}, ${writes ? "one write per event" : "no write"}`,
      ...fields.map(([, column]) => column),
    ],
    rows: byWallTime(contendersOf(store, writes), drains).map((name) => [
      name.replace(/^kit-[a-z]+/, "this kit"),
      ...cells(name),
    ]),
  };
}

/** Without statistics: the server never analyses the tables. */
async function measureGrowth(stores: BacklogStores, quick: boolean) {
  const sizes = quick ? [200, 1_000] : backlogs;
  const kits = { postgres: "kit-postgres", sqlite: "kit-sqlite" } as const;
  const measured = new Map<Store, Drains>();
  for (const store of ["postgres", "sqlite"] as const) {
    const drainOne = (size: number) => stores.drain(store, kits[store], { writes: false, events: size });
    const smaller = await inTurns(sizes.slice(0, -1), { rounds: quick ? 1 : 3 }, drainOne);
    // It takes minutes to fill.
    const largest = await inTurns(sizes.slice(-1), { rounds: 1 }, drainOne);
    measured.set(store, new Map([...smaller, ...largest]));
  }
  const costs = (store: Store) => measured.get(store) ?? new Map();
  const [smallest = 0, largest = 0] = [sizes[0], sizes.at(-1)];
  return {
    goals: (["postgres", "sqlite"] as const).map((store) =>
      atMost(
        goals.growth(store),
        1.3,
        scaled(spreadIn(costs(store), largest, "wallUs"), 1 / medianIn(costs(store), smallest, "wallUs")),
        "×",
      ),
    ),
    table: {
      columns: ["waiting rows", "PostgreSQL, events/s", "SQLite, events/s"],
      rows: sizes.map((size) => [
        whole(size),
        ...(["postgres", "sqlite"] as const).map((store) =>
          spread(spreadIn(costs(store), size, "perSecond")),
        ),
      ]),
    },
  };
}

async function measureTroubles(stores: BacklogStores, quick: boolean) {
  const [none, slow, failing] = [
    "kit-postgres",
    "kit-postgres, one handler takes 150 ms",
    "kit-postgres, 2 % fail once",
  ] as const;
  const names = [none, slow, failing] as const;
  const drains = await inTurns(names, { rounds: quick ? 1 : 5, warmUpRounds: quick ? 0 : 1 }, (name) =>
    stores.drain("postgres", name, { writes: true, events: quick ? 500 : 5_000 }),
  );
  const speed = (name: string) => ratioIn(drains, name, none, "wallUs");
  return {
    goals: [atLeast(goals.slow, 0.7, speed(slow)), atLeast(goals.failing, 0.6, speed(failing))],
    table: {
      columns: ["5,000 events, one write, PostgreSQL", "events/s", "µs", "server µs"],
      rows: names.map((name) => [
        name.replace(/^kit-postgres(, )?/, "") || "no trouble",
        ...(["perSecond", "cpuUs", "serverCpuUs"] as const).map((field) =>
          spread(spreadIn(drains, name, field)),
        ),
      ]),
    },
  };
}

async function measureProcesses(stores: BacklogStores, quick: boolean): Promise<Table> {
  const rounds = await inTurns(processCounts, { rounds: quick ? 1 : 3 }, (processes) =>
    stores.drain("postgres", "kit-postgres", { writes: true, events: quick ? 500 : 8_000, processes }),
  );
  return {
    columns: ["processes, one write, PostgreSQL", "events/s", "µs", "server µs"],
    rows: processCounts.map((count) => [
      String(count),
      ...(["perSecond", "cpuUs", "serverCpuUs"] as const).map((field) =>
        spread(spreadIn(rounds, count, field)),
      ),
    ]),
  };
}

/** A new database, or file, for each drain. */
class BacklogStores {
  readonly #postgres: PostgresServer;
  readonly #folder: string;
  #files = 0;

  constructor(postgres: PostgresServer, folder: string) {
    this.#postgres = postgres;
    this.#folder = folder;
  }

  async drain(
    store: Store,
    name: string,
    options: Omit<DrainOptions, "store" | "readServer">,
  ): Promise<Drained> {
    if (store === "sqlite") {
      return drain(name, { ...options, store: join(this.#folder, `${++this.#files}.db`) });
    }
    await using database: PostgresDatabase = await this.#postgres.database();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query("ALTER SYSTEM SET autovacuum = off");
      await client.query("SELECT pg_reload_conf()");
      return await drain(name, {
        ...options,
        store: database.url,
        readServer: () => serverUse(client, this.#postgres.pid),
      });
    } finally {
      await client.end();
    }
  }
}

async function serverUse(client: pg.Client, pid: number): Promise<ServerUse> {
  // Sessions report what they did at most once per second.
  await pause(1_100);
  const { rows } = await client.query(
    `SELECT (SELECT sum(xact_commit) FROM pg_stat_database)::float8 AS commits,
       (pg_current_wal_lsn() - '0/0')::float8 AS bytes`,
  );
  return { commits: rows[0].commits, bytesWritten: rows[0].bytes, cpuUs: serverCpuUs(pid) };
}
