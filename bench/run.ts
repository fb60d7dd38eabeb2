// npm run bench [-- --only verify,mock-query] [--quick]
//
// Installs what the benchmarks compare with, runs each benchmark in a process of its own against the built package,
// keeps what it found in results/ and writes docs/benchmarks.md from all of them.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeReport } from "./report.ts";

const folder = import.meta.dirname;
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    /** Writes the report from what was found before. */
    report: { type: "boolean", default: false },
  },
});

const known = readdirSync(join(folder, "benchmarks"))
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -".ts".length));
const chosen = values.only?.split(",") ?? known;
const strange = chosen.filter((name) => !known.includes(name));
if (strange.length > 0) {
  console.error(`no such benchmark: ${strange.join(", ")}; there are ${known.join(", ")}`);
  process.exit(2);
}

const failed = values.report ? [] : measureAll();
if (!values.quick) writeReport(folder);
if (failed.length > 0) {
  console.error(`failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}

function measureAll(): readonly string[] {
  installPeers();
  return chosen.filter((name) => {
    console.log(`\n── ${name}`);
    const options = values.quick ? ["--quick"] : [];
    // Collections on purpose would make V8 forget the code of whoever is not running; it has to stay.
    return (
      runNode([
        "--expose-gc",
        "--no-flush-bytecode",
        "--import",
        "tsx",
        join(folder, "record.ts"),
        name,
        ...options,
      ]) !== 0
    );
  });
}

function runNode(args: readonly string[]): number | null {
  return spawnSync(process.execPath, args, { cwd: folder, stdio: "inherit" }).status;
}

function installPeers(): void {
  const peers = join(folder, "peers");
  const installed = join(peers, "node_modules", ".package-lock.json");
  const wanted = join(peers, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs + 1 >= statSync(wanted).mtimeMs) return;
  console.log("installing what the benchmarks compare with …");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status } = spawnSync(npm, ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"], {
    cwd: peers,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) process.exit(status ?? 1);
}
