import { type Benchmark, type MeasureOptions, measuredFor, type Result } from "../benchmark.ts";
import { BacklogStores } from "../drain/backlog-stores.ts";
import { byWallTime, comparison, type Drains } from "../drain/comparison.ts";
import type { Drained } from "../drain/drain.ts";
import { atLeast, spread } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { ratioIn, spreadIn } from "../statistics.ts";

const ours = "kit-postgres";
const peers = ["graphile-worker", "graphile-worker, local queue", "pg-boss", "pg-boss, transactional"];
/** What an application may have besides. */
const surroundings = [
  "kit-postgres, a listener on the pool",
  "kit-postgres, a trigger",
  "kit-postgres, a deferrable constraint",
  "kit-postgres, two statements",
  "kit-postgres, not prepared",
];
const events = 16_000;

const goals = {
  local: "PostgreSQL, no write ÷ graphile-worker's local queue",
  write: "PostgreSQL, one write ÷ the fastest of the others",
  slow: "PostgreSQL, one write: one handler of 5,000 takes 150 ms ÷ none does",
  failing: "PostgreSQL, one write: 2 % of 5,000 fail once ÷ none does",
} as const;

export const benchmark: Benchmark = {
  title: "Draining a backlog",
  question: "How fast is a backlog handled, beside job queues that guarantee less?",
  answer: (result) =>
    `${measuredFor(result, goals.local)} of graphile-worker's local queue, with a write ${measuredFor(result, goals.write)} of the fastest other queue`,
  about:
    "One process with 16 handlers at a time handles events of 1 KB, five of each task; the handlers do nothing or write one row. This kit keeps the order " +
    "of each task, and a write if and only if the event is settled. The others run jobs in any order here, and repeat a write after a crash, but for pg-boss with transactional workers, whose transaction is that of a batch of 50 jobs: one that fails repeats all.",
  notes: [
    "graphile-worker: a local queue of 500 jobs, completions batched without a delay. pg-boss: 16 workers that fetch 50 jobs each, without a pause while batches are full.",
    "Each event of this kit with a write has a transaction of its own, on a client of its own: two messages with two round trips. The rows with a note have what an application may have besides.",
    "µs: CPU time per event, of the process and of all server processes. Bytes: of the write-ahead log.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using stores = new BacklogStores();
  const rounds = { rounds: quick ? 1 : 3, warmUpRounds: quick ? 0 : 1 };
  const compare = async (contenders: readonly string[], writes: boolean): Promise<Drains> =>
    await inTurns<string, Drained>(contenders, rounds, (name) =>
      stores.drain("postgres", name, { writes, events: quick ? 500 : events }),
    );
  const plain = await compare([ours, ...peers], false);
  const writing = await compare([ours, ...peers, ...surroundings], true);
  const troubles = await measureTroubles(stores, quick);
  const to = (drains: Drains, other: string) => ratioIn(drains, ours, other, "wallUs");
  const [fastest = ""] = byWallTime(peers, writing);
  return {
    goals: [
      atLeast(goals.local, 0.75, to(plain, "graphile-worker, local queue")),
      atLeast(goals.write, 1.3, to(writing, fastest)),
      ...troubles.goals,
    ],
    tables: [comparison("postgres", false, plain), comparison("postgres", true, writing), troubles.table],
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
