import {
  atLeast,
  atMost,
  type Benchmark,
  type MeasureOptions,
  measuredFor,
  type Result,
} from "../benchmark.ts";
import { BacklogStores, comparison, type Drains } from "../drain.ts";
import type { Contender } from "../drainer.ts";
import { ratioIn, scaled, spreadIn } from "../statistics.ts";

const contenders: Readonly<Record<string, Contender>> = {
  "this kit": { drainer: "kit-sqlite" },
  plainjob: { drainer: "plainjob", synchronous: "FULL" },
  "plainjob, synchronous=NORMAL": { drainer: "plainjob", synchronous: "NORMAL" },
};

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
  await using stores = await BacklogStores.create();
  const compare = (writes: boolean): Promise<Drains> =>
    stores.compare(
      "sqlite",
      contenders,
      { writes, events: quick ? 500 : 8_000 },
      { rounds: quick ? 1 : 3, warmUpRounds: quick ? 0 : 1 },
    );
  const plain = await compare(false);
  const writing = await compare(true);
  const toPlainjob = (drains: Drains) => ratioIn(drains, "this kit", "plainjob", "wallUs");
  return {
    goals: [
      atLeast(goals.plain, 5, toPlainjob(plain)),
      atLeast(goals.write, 5, toPlainjob(writing)),
      atMost(goals.bytes, 20, scaled(spreadIn(writing, "this kit", "bytesWritten"), 1 / 1_000), "KB"),
    ],
    tables: [comparison("sqlite", "no write", plain), comparison("sqlite", "one write per event", writing)],
  };
}
