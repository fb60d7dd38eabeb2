import { atMost, type Benchmark, type MeasureOptions, measuredFor, type Result } from "../benchmark.ts";
import { BacklogStores, comparison, type Drains } from "../drain.ts";
import type { Contender } from "../drainer.ts";
import { ratioIn } from "../statistics.ts";

const ours = "this kit";
const batches = "this kit, batches";
const failing = "this kit, 2 % fail once";
const local = "graphile-worker, local queue";

interface Rival extends Contender {
  /** How many times what graphile-worker's local queue costs it may cost. */
  readonly most?: number;
}

const localQueue: Rival = { drainer: "graphile-worker", localQueue: true };
const kit: Rival = { drainer: "kit-postgres" };

/** The kit alone, and with what an application may have besides. */
const writing: Readonly<Record<string, Rival>> = {
  [local]: localQueue,
  [ours]: { ...kit, most: 2.1 },
  "this kit, a listener on the pool": { ...kit, listens: true, most: 2.1 },
  "this kit, a trigger": {
    ...kit,
    alters: `
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at := NEW.at || ''; RETURN NEW; END $$;
      CREATE TRIGGER note BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION note()`,
    most: 2.1,
  },
  "this kit, a deferrable constraint": {
    ...kit,
    alters: "ALTER TABLE effects ADD CONSTRAINT once UNIQUE (id) DEFERRABLE INITIALLY DEFERRED",
    most: 2.1,
  },
  "this kit, two statements": { ...kit, readsFirst: true, most: 2.6 },
  "this kit, not prepared": { ...kit, prepare: false, most: 3 },
  [batches]: { ...kit, inBatches: true, most: 0.35 },
  "graphile-worker": { drainer: "graphile-worker" },
  "pg-boss": { drainer: "pg-boss" },
  "pg-boss, transactional": { drainer: "pg-boss", transactional: true },
  [failing]: { ...kit, failsEvery: 50 },
};

const live: Readonly<Record<string, Rival>> = {
  "this kit, live": { ...kit, isLive: true },
  "graphile-worker, live": { drainer: "graphile-worker", isLive: true },
};

const goalOf = (name: string) => `${name.replace(ours, "one write")} ÷ graphile-worker's local queue`;

export const benchmark: Benchmark = {
  title: "Draining a backlog",
  question: "What does an event of a backlog cost, beside job queues that guarantee less?",
  answer: (result) =>
    `${measuredFor(result, goalOf(ours))} of graphile-worker's local queue, in batches ${measuredFor(result, goalOf(batches))}`,
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
  await using stores = await BacklogStores.create();
  const compare = (rivals: Readonly<Record<string, Rival>>, events: number, writes = true): Promise<Drains> =>
    stores.compare("postgres", rivals, { writes, events: quick ? 500 : events }, { rounds: quick ? 1 : 3 });
  const written = await compare(writing, 4_000);
  const delivered = await compare(live, 1_000);
  const plain = await compare({ [ours]: kit, [local]: localQueue }, 4_000, false);
  const times = (name: string, other: string) => ratioIn(written, other, name, "totalCpuUs");
  return {
    goals: [
      ...Object.entries(writing).flatMap(([name, { most }]) =>
        most === undefined ? [] : [atMost(goalOf(name), most, times(name, local), "×")],
      ),
      atMost("one write: 2 % fail once ÷ none does", 1.4, times(failing, ours), "×"),
    ],
    tables: [
      comparison("postgres", "one write per event", written),
      comparison("postgres", "live, one write per event", delivered),
      comparison("postgres", "no write", plain),
    ],
  };
}
