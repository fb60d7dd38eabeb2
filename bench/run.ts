// npm run bench [-- --only verify,mock-query] [--quick] [--report]
//
// Installs the peers, runs each benchmark in its own process against the built package, records the results in results/
// and writes docs/benchmarks.md from all of them.

import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
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
  installPeers();
  return selected.filter((name) => {
    console.log(`\n── ${name}`);
    // Explicit collections would make V8 discard the code of functions that are not running.
    const flags = ["--expose-gc", "--no-flush-bytecode", "--import", "tsx"];
    const args = [...flags, join(folder, "record.ts"), name, ...(values.quick ? ["--quick"] : [])];
    return spawnSync(process.execPath, args, { cwd: folder, stdio: "inherit" }).status !== 0;
  });
}

function installPeers(): void {
  const peers = join(folder, "peers");
  const installed = join(peers, "node_modules", ".package-lock.json");
  const wanted = join(peers, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs + 1 >= statSync(wanted).mtimeMs) return;
  console.log("installing what the benchmarks compare with …");
  const { status } = spawnSync(
    "npm",
    ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"],
    {
      cwd: peers,
      stdio: ["ignore", "ignore", "inherit"],
      shell: process.platform === "win32",
    },
  );
  if (status !== 0) process.exit(status ?? 1);
}
