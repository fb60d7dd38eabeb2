// Runs one benchmark in this process and records its result: node --expose-gc --import tsx record.ts NAME [--quick]
// Exits with 3 when a goal is missed, which a quick run does not tell.

import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { Benchmark, RecordedResult } from "./benchmark.ts";

const [name, option] = process.argv.slice(2);
const quick = option === "--quick";
const { benchmark } = (await import(join(import.meta.dirname, "benchmarks", `${name}.ts`))) as {
  benchmark: Benchmark;
};

// Read before the benchmark, which may install fake timers.
const date = new Date().toISOString().slice(0, 10);
const [loadBefore = 0] = loadavg();
const result = await benchmark.measure({ quick });
const [loadAfter = 0] = loadavg();

for (const { columns, rows } of result.tables) {
  console.log([columns, ...rows].map((row) => row.join(" | ")).join("\n"));
}
for (const { what, target, measured, met } of result.goals) {
  console.log(`${met ? "✓" : "✗"} ${what}: ${measured}, goal ${target}`);
}
if (!quick) {
  const machine = {
    date,
    node: process.versions.node,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    load: [loadBefore, loadAfter],
  } as const;
  const recorded: RecordedResult = { machine, ...result };
  const file = join(import.meta.dirname, "results", `${name}.json`);
  writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`);
}
// Peers leave timers and sockets open.
process.exit(!quick && result.goals.some(({ met }) => !met) ? 3 : 0);
