// `npm run mutate`: Stryker changes each policy file in every way that it knows, one change at a time, and runs the tests of
// the file. A change that no test notices must be in survivors.json with the reason why it changes nothing that matters.
// Texts stay as they are: messages may change, and codes and names have types.
// Stryker takes a test file that cannot be collected for one that passes, so these test files call what they test in their
// tests, not around them.
//
//   npm run mutate                          all of them; about an hour on one core
//   npm run mutate -- --only sdk/request    the files whose paths start with this

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { policyFiles } from "./policy-files.ts";
import * as survivors from "./survivors.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".tmp/mutation");
const strykerFolder = join(import.meta.dirname, "node_modules/@stryker-mutator");

function main(args: readonly string[]): number {
  const { only } = parseArgs({ args: [...args], options: { only: { type: "string" } } }).values;
  mkdirSync(folder, { recursive: true });
  const chosen = Object.keys(policyFiles).filter((path) => only === undefined || path.startsWith(only));
  const results: survivors.FileResult[] = [];
  for (const group of new Set(chosen.map(folderOf))) {
    const paths = chosen.filter((path) => folderOf(path) === group);
    const report = runStryker(paths);
    for (const path of paths) {
      const source = readFileSync(join(root, path), "utf8");
      const result = survivors.readReport(path, source, report.files[path]?.mutants ?? []);
      print(`${path}: ${result.found} of ${result.total} found`);
      results.push(result);
    }
  }
  const known = JSON.parse(
    readFileSync(join(import.meta.dirname, "survivors.json"), "utf8"),
  ) as survivors.KnownSurvivors;
  const { unknown, gone } = survivors.compareSurvivors(results, known);
  for (const each of unknown) print(`not found by any test, and not listed: ${JSON.stringify(each)}`);
  for (const each of gone) print(`listed, but found by a test or no longer there: ${JSON.stringify(each)}`);
  return unknown.length === 0 ? 0 : 1;
}

const folderOf = (path: string) => dirname(path);

/** The tests of all files of its folder: what one of them decides is often seen in another one's test. */
const testsOf = (path: string): readonly string[] => {
  const files = Object.entries(policyFiles).filter(([other]) => folderOf(other) === folderOf(path));
  return [...new Set(files.flatMap(([, tests]) => tests))];
};

/** Runs Stryker once over the files of one folder. */
function runStryker(paths: readonly string[]): survivors.StrykerReport {
  const tests = testsOf(paths[0] ?? "");
  const options = join(folder, `${process.pid}-options.json`);
  const report = join(folder, `${process.pid}-report.json`);
  writeFileSync(options, JSON.stringify(strykerOptions(paths, report)));
  execFileSync(process.execPath, [join(strykerFolder, "core/bin/stryker.js"), "run", options], {
    cwd: root,
    env: { ...process.env, MUTATION_TESTS: tests.join(",") },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const read = JSON.parse(readFileSync(report, "utf8")) as survivors.StrykerReport;
  for (const path of [options, report]) rmSync(path);
  return read;
}

const strykerOptions = (mutate: readonly string[], report: string) => ({
  testRunner: "vitest",
  concurrency: 1,
  coverageAnalysis: "perTest",
  checkers: [],
  mutate,
  mutator: { excludedMutations: ["StringLiteral"] },
  plugins: [join(strykerFolder, "vitest-runner/dist/src/index.js")],
  vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
  tempDirName: `.tmp/stryker-${process.pid}`,
  timeoutMS: 20_000,
  allowConsoleColors: false,
  ignorePatterns: ["test/bench", "dist", ".tmp", ".ci"],
  reporters: ["json"],
  jsonReporter: { fileName: relative(root, report) },
});

const print = (text: string) => void process.stdout.write(`${text}\n`);

process.exitCode = main(process.argv.slice(2));
