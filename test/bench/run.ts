// npm run bench [-- --only verify,mock-query] [--quick] [--report]
//
// Runs each benchmark in its own process against the built package, records the results in results/ and writes
// docs/benchmarks.md from all of them. npm installs the peers before it. Exits with 1 when a benchmark failed, or a goal
// is missed.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { benchmarkNames, writeReport } from "./report.ts";

const folder = import.meta.dirname;
const { values } = parseArgs({
  options: {
    /** Benchmarks whose names contain one of these words. */
    only: { type: "string", default: "" },
    quick: { type: "boolean", default: false },
    /** Writes the page from recorded results. */
    report: { type: "boolean", default: false },
  },
});

const names = benchmarkNames(folder);
const words = values.only.split(",");
const unknown = words.filter((word) => !names.some((name) => name.includes(word)));
if (unknown.length > 0) {
  console.error(`no benchmark is named ${unknown.join(", ")}; there are ${names.join(", ")}`);
  process.exit(2);
}

const selected = names.filter((name) => words.some((word) => name.includes(word)));
const statuses = values.report ? [] : selected.map((name) => ({ name, status: measure(name) }));
if (!values.quick) await writeReport(folder);
const missed = statuses.filter(({ status }) => status === 3);
const failed = statuses.filter(({ status }) => status !== 0 && status !== 3);
const list = (some: typeof statuses) => some.map(({ name }) => name).join(", ");
if (missed.length > 0) console.error(`goals are missed, marked with ✗ above: ${list(missed)}`);
if (failed.length > 0) console.error(`failed: ${list(failed)}`);
// The benchmarks that the page was written from may keep this process alive.
process.exit(missed.length + failed.length > 0 ? 1 : 0);

function measure(name: string): number | null {
  console.log(`\n── ${name}`);
  // Explicit collections would make V8 discard the code of functions that are not running.
  const flags = ["--expose-gc", "--no-flush-bytecode", "--import", "tsx"];
  const args = [...flags, join(folder, "record.ts"), name, ...(values.quick ? ["--quick"] : [])];
  return spawnSync(process.execPath, args, { cwd: folder, stdio: "inherit" }).status;
}
