// npm run bench [-- --only verify,mock-query] [--quick] [--report]
//
// Runs each benchmark in its own process against the built package, records the results in results/ and writes
// docs/benchmarks.md from all of them. npm installs the peers before it.

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

const failed = values.report
  ? []
  : measure(names.filter((name) => words.some((word) => name.includes(word))));
if (!values.quick) await writeReport(folder);
if (failed.length > 0) console.error(`failed: ${failed.join(", ")}`);
// The benchmarks that the page was written from may keep this process alive.
process.exit(failed.length > 0 ? 1 : 0);

function measure(selected: readonly string[]): readonly string[] {
  return selected.filter((name) => {
    console.log(`\n── ${name}`);
    // Explicit collections would make V8 discard the code of functions that are not running.
    const flags = ["--expose-gc", "--no-flush-bytecode", "--import", "tsx"];
    const args = [...flags, join(folder, "record.ts"), name, ...(values.quick ? ["--quick"] : [])];
    return spawnSync(process.execPath, args, { cwd: folder, stdio: "inherit" }).status !== 0;
  });
}
