import { type Benchmark, type MeasureOptions, measuredFor, type Result, type Table } from "../benchmark.ts";
import { BacklogStores, type Store, storeNames } from "../drain/backlog-stores.ts";
import type { Drains } from "../drain/comparison.ts";
import { atMost, spread, whole } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { medianIn, scaled, spreadIn } from "../statistics.ts";

const backlogs = [1_000, 10_000, 100_000, 1_000_000];
const processCounts = [1, 2, 4];

const growthGoal = (store: Store) =>
  `cost per event beside ${whole(backlogs.at(-1) ?? 0)} waiting rows ÷ beside 1,000, ${storeNames[store]}, no statistics`;

export const benchmark: Benchmark = {
  title: "A long backlog, and more processes",
  question: "Does an event cost more beside a million waiting ones, and what do more processes bring?",
  answer: (result) =>
    `no: it costs ${measuredFor(result, growthGoal("postgres"))} of one beside 1,000 on PostgreSQL, ${measuredFor(result, growthGoal("sqlite"))} on SQLite`,
  about:
    "As in the benchmark of draining a backlog, without a write for backlogs, and with one for processes.",
  notes: [
    "The largest backlog is drained once, the others three times. All processes share two cores with the server.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using stores = new BacklogStores();
  const growth = await measureGrowth(stores, quick);
  const processes = await measureProcesses(stores, quick);
  return { goals: growth.goals, tables: [growth.table, processes] };
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
        growthGoal(store),
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
