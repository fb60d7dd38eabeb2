import {
  atMost,
  type Benchmark,
  type MeasureOptions,
  measuredFor,
  type Result,
  spread,
  whole,
} from "../benchmark.ts";
import { BacklogStores, type Drains, type Store, storeNames } from "../drain.ts";
import { inTurns, medianIn, scaled, spreadIn } from "../statistics.ts";

const backlogs = [1_000, 10_000, 100_000, 1_000_000];
const stores = ["postgres", "sqlite"] as const;

const growthGoal = (store: Store) =>
  `cost per event beside ${whole(backlogs.at(-1) ?? 0)} waiting rows ÷ beside 1,000, ${storeNames[store]}, no statistics`;

export const benchmark: Benchmark = {
  title: "A long backlog",
  question: "Does an event cost more beside a million waiting ones?",
  answer: (result) =>
    `no: it costs ${measuredFor(result, growthGoal("postgres"))} of one beside 1,000 on PostgreSQL, ${measuredFor(result, growthGoal("sqlite"))} on SQLite`,
  about:
    "As in the benchmark of draining a backlog, without a write. The server never analyses the tables, so it has no statistics.",
  notes: ["The largest backlog is drained once, the others three times."],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using backlog = await BacklogStores.create();
  const sizes = quick ? [200, 1_000] : backlogs;
  const measured = new Map<Store, Drains>();
  for (const store of stores) {
    const drainOne = (events: number) =>
      backlog.drain(store, { drainer: `kit-${store}`, writes: false, events });
    const smaller = await inTurns(sizes.slice(0, -1), { rounds: quick ? 1 : 3 }, drainOne);
    // It takes minutes to fill.
    const largest = await inTurns(sizes.slice(-1), { rounds: 1 }, drainOne);
    measured.set(store, new Map([...smaller, ...largest]));
  }
  const costs = (store: Store) => measured.get(store) ?? new Map();
  const growth = (store: Store) => {
    const atFirst = medianIn(costs(store), sizes[0], "wallUs");
    return scaled(spreadIn(costs(store), sizes.at(-1), "wallUs"), 1 / atFirst);
  };
  return {
    goals: stores.map((store) => atMost(growthGoal(store), 1.3, growth(store), "×")),
    tables: [
      {
        columns: ["waiting rows", ...stores.map((store) => `${storeNames[store]}, events/s`)],
        rows: sizes.map((size) => [
          whole(size),
          ...stores.map((store) => spread(spreadIn(costs(store), size, "perSecond"))),
        ]),
      },
    ],
  };
}
