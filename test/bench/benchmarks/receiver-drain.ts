import { atMost, type Benchmark, type MeasureOptions, measuredFor, type Result } from "../benchmark.ts";
import { BacklogStores, comparison, type Drains } from "../drain.ts";
import { inTurns, ratioIn } from "../statistics.ts";

const ours = "kit-postgres";
const batches = "kit-postgres, batches";
const local = "graphile-worker, local queue";
const events = 4_000;

const goals = {
  single: "one write ÷ graphile-worker's local queue",
  batches: "one write, batches ÷ graphile-worker's local queue",
} as const;

export const benchmark: Benchmark = {
  title: "Draining a backlog",
  question: "What does an event of a backlog cost, beside job queues that guarantee less?",
  answer: (result) =>
    `${measuredFor(result, goals.single)} of graphile-worker's local queue, in batches ${measuredFor(result, goals.batches)}`,
  about:
    "One process with 16 handlers at a time handles events of 1 KB, five of each task, whose handlers write one row. This kit keeps the order " +
    "of each task, and a write if and only if the event is settled. The others run jobs in any order here. graphile-worker repeats a write after a crash; pg-boss has transactional workers, whose transaction is that of a batch of 50 jobs: one that fails repeats all.",
  notes: [
    "graphile-worker: a local queue of 500 jobs, completions batched without a delay. pg-boss: 16 workers that fetch 50 jobs each, without a pause while batches are full.",
    "Each event of this kit has a transaction of its own, on a client of its own; batches are those of `onBatch`, of up to 100 events.",
    "µs: CPU time per event, of the process and of all server processes; goals compare their sum. Bytes: of the write-ahead log.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using stores = await BacklogStores.create();
  const compare = async (contenders: readonly string[], writes: boolean): Promise<Drains> =>
    await inTurns(contenders, { rounds: quick ? 1 : 3 }, (name) =>
      stores.drain("postgres", name, { writes, events: quick ? 500 : events }),
    );
  const writing = await compare([ours, batches, local, "pg-boss, transactional"], true);
  const plain = await compare([ours, local], false);
  const toLocal = (name: string) => ratioIn(writing, local, name, "totalCpuUs");
  return {
    goals: [
      atMost(goals.single, 2.1, toLocal(ours), "×"),
      atMost(goals.batches, 0.35, toLocal(batches), "×"),
    ],
    tables: [comparison("one write per event", writing), comparison("no write", plain)],
  };
}
