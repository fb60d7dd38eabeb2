import { type Benchmark, type MeasureOptions, measuredFor, type Result } from "../benchmark.ts";
import { BacklogStores } from "../drain/backlog-stores.ts";
import { comparison, type Drains } from "../drain/comparison.ts";
import type { Drained } from "../drain/drain.ts";
import { atLeast, atMost } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { ratioIn, scaled, spreadIn } from "../statistics.ts";

const contenders = ["kit-sqlite", "plainjob", "plainjob, synchronous=NORMAL"];
const events = 8_000;

const goals = {
  plain: "SQLite, no write ÷ plainjob with synchronous=FULL",
  write: "SQLite, one write ÷ plainjob with synchronous=FULL",
  bytes: "SQLite, one write: KB written per event",
} as const;

export const benchmark: Benchmark = {
  title: "Draining a backlog on SQLite",
  question: "How fast is a backlog handled on SQLite, beside a job queue that guarantees less?",
  answer: (result) =>
    `${measuredFor(result, goals.plain)} as fast as plainjob, with a write ${measuredFor(result, goals.write)}`,
  about:
    "One process with 16 handlers at a time handles events of 1 KB, five of each task; the handlers do nothing or write one row. plainjob has one worker on libsql, runs jobs in any order, and repeats a write after a crash; with `synchronous=NORMAL` it may lose what it has acknowledged.",
  notes: ["µs: CPU time per event. Bytes: of write calls."],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using stores = new BacklogStores();
  const rounds = { rounds: quick ? 1 : 3, warmUpRounds: quick ? 0 : 1 };
  const compare = async (writes: boolean): Promise<Drains> =>
    await inTurns<string, Drained>(contenders, rounds, (name) =>
      stores.drain("sqlite", name, { writes, events: quick ? 500 : events }),
    );
  const [plain, writing] = [await compare(false), await compare(true)];
  const toPlainjob = (drains: Drains) => ratioIn(drains, "kit-sqlite", "plainjob", "wallUs");
  return {
    goals: [
      atLeast(goals.plain, 5, toPlainjob(plain)),
      atLeast(goals.write, 5, toPlainjob(writing)),
      atMost(goals.bytes, 20, scaled(spreadIn(writing, "kit-sqlite", "bytesWritten"), 1 / 1_000), "KB"),
    ],
    tables: [comparison("sqlite", "no write", plain), comparison("sqlite", "one write per event", writing)],
  };
}
