// Runs one benchmark in this process and keeps what it found: node --expose-gc --import tsx record.ts NAME [--quick]

import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { Measure, Recorded } from "./finding.ts";

const [name, option] = process.argv.slice(2);
const quick = option === "--quick";
const { measure } = (await import(join(import.meta.dirname, "benchmarks", `${name}.ts`))) as {
  measure: Measure;
};

const [loadBefore = 0] = loadavg();
const finding = await measure({ quick });
const [loadAfter = 0] = loadavg();
const recorded: Recorded = {
  name: String(name),
  machine: {
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    load: [loadBefore, loadAfter],
    quick,
  },
  ...finding,
};

for (const { columns, rows } of finding.tables) {
  console.log([columns, ...rows].map((row) => row.join(" | ")).join("\n"));
}
for (const { what, target, measured, met } of finding.goals) {
  console.log(`${met ? "✓" : "✗"} ${what}: ${measured}, wanted ${target}`);
}
if (!quick) {
  const results = join(import.meta.dirname, "results");
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, `${name}.json`), `${JSON.stringify(recorded, null, 2)}\n`);
}
// Peers leave timers and sockets open.
process.exit();
