// `npm run mutate`: Stryker changes each policy file in every way that it knows, one change at a time, and runs the tests of
// the file. A change that no test notices must be in survivors.json with the reason why it changes nothing that matters.
// What one run has found is kept in .tmp/mutation by the text of the file, so the next one continues: after a change of the
// tests only those changes are tried again that no test had noticed. --fresh tries all of them. Stryker takes a test file
// that cannot be collected for one that passes, so these test files call what they test in their tests, not around them.
//
//   npm run mutate                          all of them; about an hour on one core when nothing is kept
//   npm run mutate -- --only sdk/request    the files whose paths start with this
//   npm run mutate -- --record              writes the counts to test/mutation/results.json
//   npm run mutate -- --fresh               forgets what was kept

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { policyFiles } from "./policy-files.ts";
import {
  compareSurvivors,
  type FileResult,
  isLeft,
  type KnownSurvivors,
  mergeMutants,
  readReport,
  type StrykerMutant,
  type StrykerReport,
} from "./survivors.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".tmp/mutation");
const strykerFolder = join(import.meta.dirname, "node_modules/@stryker-mutator");

const boolean = { type: "boolean", default: false } as const;

function main(args: readonly string[]): number {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: "string" }, record: boolean, fresh: boolean },
  });
  const { only, record, fresh } = values;
  mkdirSync(folder, { recursive: true });
  const chosen = Object.keys(policyFiles).filter((path) => only === undefined || path.startsWith(only));
  const results: FileResult[] = [];
  for (const group of new Set(chosen.map(folderOf))) {
    const paths = chosen.filter((path) => folderOf(path) === group);
    runStryker(paths, fresh);
    for (const path of paths) {
      const result = readReport(path, textOf(path), keptOf(path)?.mutants ?? []);
      print(`${path}: ${result.found} of ${result.total} found`);
      results.push(result);
    }
  }
  print(`\n${tableOf(results)}\n`);
  if (record) {
    const counts = results.map(({ survivors, ...counted }) => ({ ...counted, survived: survivors.length }));
    writeFileSync(join(import.meta.dirname, "results.json"), `${JSON.stringify(counts, null, 2)}\n`);
  }
  const known = JSON.parse(
    readFileSync(join(import.meta.dirname, "survivors.json"), "utf8"),
  ) as KnownSurvivors;
  const { unknown, gone } = compareSurvivors(results, known);
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

const textOf = (path: string) => readFileSync(join(root, path), "utf8");
const hashOf = (paths: readonly string[]) =>
  createHash("sha256").update(paths.map(textOf).join("\0")).digest("hex").slice(0, 16);

interface KeptReport {
  /** Of the tests that ran. */
  readonly tests: string;
  readonly mutants: readonly StrykerMutant[];
}

const keptPath = (path: string) => join(folder, `${path.replaceAll(/[^a-z]/g, "-")}-${hashOf([path])}.json`);

function keptOf(path: string): KeptReport | undefined {
  const kept = keptPath(path);
  return existsSync(kept) ? (JSON.parse(readFileSync(kept, "utf8")) as KeptReport) : undefined;
}

/** Runs Stryker once over what is to be tried in files of one folder, and keeps the results of each file. */
function runStryker(paths: readonly string[], isFresh: boolean): void {
  const [first = ""] = paths;
  const tests = testsOf(first);
  const testHash = hashOf(tests);
  // The files may change while they are mutated.
  const files = paths.map((path) => ({
    path,
    keep: keptPath(path),
    kept: isFresh ? undefined : keptOf(path),
  }));
  const open = files.filter(({ kept }) => kept?.tests !== testHash);
  const mutate = open.flatMap(({ path, kept }) => (kept ? leftIn(path, kept) : [path]));
  const report = mutate.length === 0 ? { files: {} } : reportOn(mutate, tests);
  for (const { path, keep, kept } of open) {
    const mutants = mergeMutants(kept?.mutants ?? [], report.files[path]?.mutants ?? []);
    writeFileSync(keep, JSON.stringify({ tests: testHash, mutants } satisfies KeptReport));
  }
}

/** The places of what no test had noticed, as Stryker names them. */
const leftIn = (path: string, { mutants }: KeptReport) =>
  mutants
    .filter(isLeft)
    .map(
      ({ location: { start, end } }) =>
        `${path}:${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`,
    );

function reportOn(mutate: readonly string[], tests: readonly string[]): StrykerReport {
  const options = join(folder, `${process.pid}-options.json`);
  const report = join(folder, `${process.pid}-report.json`);
  writeFileSync(options, JSON.stringify(strykerOptions(mutate, report)));
  execFileSync(process.execPath, [join(strykerFolder, "core/bin/stryker.js"), "run", options], {
    cwd: root,
    env: { ...process.env, MUTATION_TESTS: tests.join(",") },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const read = JSON.parse(readFileSync(report, "utf8")) as StrykerReport;
  for (const path of [options, report]) rmSync(path);
  return read;
}

const strykerOptions = (mutate: readonly string[], report: string) => ({
  ...{ testRunner: "vitest", concurrency: 1, coverageAnalysis: "perTest", checkers: [], mutate },
  plugins: [join(strykerFolder, "vitest-runner/dist/src/index.js")],
  vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
  ...{ tempDirName: `.tmp/stryker-${process.pid}`, timeoutMS: 20_000, allowConsoleColors: false },
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
