// `npm run mutate`: Stryker changes each policy file in every way that it knows, one change at a time, and runs the tests of
// the file. A change that no test notices must be in survivors.json with the reason why it changes nothing that matters.
// What one run has found is kept in .tmp/mutation by the text of file and tests, so the next one continues.
//
//   npm run mutate                          all of them; about an hour on one core when nothing is kept
//   npm run mutate -- --only sdk/request    the files whose paths start with this
//   npm run mutate -- --record              writes the table to docs/proof.md

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { replaceRegion } from "../prove/record-proof.ts";
import { policyFiles } from "./policy-files.ts";
import {
  compareSurvivors,
  type FileResult,
  type KnownSurvivors,
  readReport,
  type StrykerReport,
} from "./survivors.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".tmp/mutation");
const strykerFolder = join(import.meta.dirname, "node_modules/@stryker-mutator");

function main(args: readonly string[]): number {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: "string" }, record: { type: "boolean", default: false } },
  });
  const { only, record } = values;
  mkdirSync(folder, { recursive: true });
  const chosen = Object.keys(policyFiles).filter((path) => only === undefined || path.startsWith(only));
  const results: FileResult[] = [];
  for (const group of new Set(chosen.map(folderOf))) {
    const paths = chosen.filter((path) => folderOf(path) === group);
    runStryker(paths.filter((path) => !existsSync(reportOf(path))));
    for (const path of paths) {
      const report = JSON.parse(readFileSync(reportOf(path), "utf8")) as StrykerReport;
      const result = readReport(path, readFileSync(join(root, path), "utf8"), report);
      print(`${path}: ${result.found} of ${result.total} found`);
      results.push(result);
    }
  }
  print(`\n${tableOf(results)}\n`);
  if (record)
    replaceRegion(join(root, "docs/proof.md"), "<!-- results of npm run mutate -->", tableOf(results));
  const known = JSON.parse(
    readFileSync(join(import.meta.dirname, "survivors.json"), "utf8"),
  ) as KnownSurvivors;
  const { unknown, gone } = compareSurvivors(results, known);
  for (const each of unknown) print(`not found by any test, and not listed: ${JSON.stringify(each)}`);
  for (const each of gone) print(`listed, but found by a test or no longer there: ${JSON.stringify(each)}`);
  return unknown.length + gone.length === 0 ? 0 : 1;
}

const folderOf = (path: string) => dirname(path);

/** The tests of all files of its folder: what one of them decides is often seen in another one's test. */
const testsOf = (path: string): readonly string[] => {
  const files = Object.entries(policyFiles).filter(([other]) => folderOf(other) === folderOf(path));
  return [...new Set(files.flatMap(([, tests]) => tests))];
};

/** Where the report of a file is kept: by its text and those of the tests. */
function reportOf(path: string): string {
  const texts = [path, ...testsOf(path)].map((each) => readFileSync(join(root, each), "utf8"));
  return join(folder, `${createHash("sha256").update(texts.join("\0")).digest("hex").slice(0, 16)}.json`);
}

/** Runs Stryker once over files of one folder, and keeps a report for each of them. */
function runStryker(paths: readonly string[]): void {
  const [first] = paths;
  if (first === undefined) return;
  // The files may change while they are mutated.
  const kept = new Map(paths.map((path) => [path, reportOf(path)]));
  const options = join(folder, `${process.pid}-options.json`);
  const report = join(folder, `${process.pid}-report.json`);
  writeFileSync(options, JSON.stringify(strykerOptions(paths, report)));
  execFileSync(process.execPath, [join(strykerFolder, "core/bin/stryker.js"), "run", options], {
    cwd: root,
    env: { ...process.env, MUTATION_TESTS: testsOf(first).join(",") },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const { files } = JSON.parse(readFileSync(report, "utf8")) as StrykerReport;
  for (const [path, name] of kept) {
    const { mutants } = files[path] ?? { mutants: [] };
    writeFileSync(name, JSON.stringify({ files: { [path]: { mutants } } } satisfies StrykerReport));
  }
  for (const path of [options, report]) rmSync(path);
}

const strykerOptions = (paths: readonly string[], report: string) => ({
  ...{ testRunner: "vitest", concurrency: 1, coverageAnalysis: "perTest", checkers: [], mutate: paths },
  plugins: [join(strykerFolder, "vitest-runner/dist/src/index.js")],
  vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
  ...{ tempDirName: `.tmp/stryker-${process.pid}`, timeoutMS: 5_000, allowConsoleColors: false },
  ignorePatterns: ["bench", "dist", ".tmp", ".ci", "examples/frameworks"],
  reporters: ["json"],
  jsonReporter: { fileName: relative(root, report) },
});

/** By folder. */
function tableOf(results: readonly FileResult[]): string {
  const sums = new Map<string, { files: number; found: number; total: number; survived: number }>();
  for (const { path, found, total, survivors } of results) {
    const name = folderOf(path);
    const sum = sums.get(name) ?? { files: 0, found: 0, total: 0, survived: 0 };
    sums.set(name, {
      ...{ files: sum.files + 1, found: sum.found + found, total: sum.total + total },
      survived: sum.survived + survivors.length,
    });
  }
  const rows = [...sums].map(([name, { files, found, total, survived }]) => {
    return `| ${name} | ${files} | ${total} | ${found} | ${((100 * found) / total).toFixed(1)} % | ${survived} |`;
  });
  return [
    "| folder | files | mutants | found | score | not found |",
    "|---|---:|---:|---:|---:|---:|",
    ...rows,
  ].join("\n");
}

const print = (text: string) => void process.stdout.write(`${text}\n`);

process.exitCode = main(process.argv.slice(2));
