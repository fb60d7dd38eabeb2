import { type Benchmark, type MeasureOptions, measuredFor, type Result } from "../benchmark.ts";
import { BacklogStores } from "../drain/backlog-stores.ts";
import { comparison, type Drains } from "../drain/comparison.ts";
import type { Drained } from "../drain/drain.ts";
import { atMost } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { ratioIn } from "../statistics.ts";

const ours = "kit-postgres";
const batches = "kit-postgres, batches";
const local = "graphile-worker, local queue";
const peers = [local, "graphile-worker", "pg-boss", "pg-boss, transactional"];
/** What an application may have besides, and how many times graphile-worker's local queue it may cost. */
const singles: Readonly<Record<string, number>> = {
  [ours]: 2.1,
  "kit-postgres, a listener on the pool": 2.1,
  "kit-postgres, a trigger": 2.1,
  "kit-postgres, a deferrable constraint": 2.1,
  "kit-postgres, two statements": 2.6,
  "kit-postgres, not prepared": 3,
};
const live = ["kit-postgres, live", "graphile-worker, live"];
const events = 4_000;

const goalOf = (name: string) =>
  `${name.replace("kit-postgres", "one write")} ÷ graphile-worker's local queue`;
const goals = {
  single: goalOf(ours),
  batches: goalOf(batches),
  failing: "one write: 2 % fail once ÷ none does",
} as const;

export const benchmark: Benchmark = {
  title: "Draining a backlog",
  question: "What does an event of a backlog cost, beside job queues that guarantee less?",
  answer: (result) =>
    `${measuredFor(result, goals.single)} of graphile-worker's local queue, in batches ${measuredFor(result, goals.batches)}`,
  about:
    "One process with 16 handlers at a time handles events of 1 KB, five of each task, whose handlers write one row. This kit keeps the order " +
    "of each task, and a write if and only if the event is settled. The others run jobs in any order here, and repeat a write after a crash, but for pg-boss with transactional workers, whose transaction is that of a batch of 50 jobs: one that fails repeats all.",
  notes: [
    "graphile-worker: a local queue of 500 jobs, completions batched without a delay. pg-boss: 16 workers that fetch 50 jobs each, without a pause while batches are full.",
    "Each event of this kit has a transaction of its own, on a client of its own. The rows with a note have what an application may have besides; batches are those of `onBatch`, of up to 100 events. Live: one event at a time, stored when the one before was handled.",
    "µs: CPU time per event, of the process and of all server processes; goals compare their sum. Bytes: of the write-ahead log.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using stores = new BacklogStores();
  const rounds = { rounds: quick ? 1 : 3, warmUpRounds: 0 };
  const compare = async (contenders: readonly string[], count: number, writes = true): Promise<Drains> =>
    await inTurns<string, Drained>(contenders, rounds, (name) =>
      stores.drain("postgres", name, { writes, events: quick ? 500 : count }),
    );
  const failing = "kit-postgres, 2 % fail once";
  const drains = await compare([local, ...Object.keys(singles), batches, ...peers.slice(1), failing], events);
  const delivered = await compare(live, 1_000);
  const plain = await compare([ours, local], events, false);
  const times = (name: string, other: string) => ratioIn(drains, other, name, "totalCpuUs");
  return {
    goals: [
      ...Object.entries(singles).map(([name, most]) => atMost(goalOf(name), most, times(name, local), "×")),
      atMost(goals.batches, 0.35, times(batches, local), "×"),
      atMost(goals.failing, 1.4, times(failing, ours), "×"),
    ],
    tables: [
      comparison("postgres", "one write per event", drains),
      comparison("postgres", "live, one write per event", delivered),
      comparison("postgres", "no write", plain),
    ],
  };
}
