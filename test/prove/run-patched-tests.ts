// Runs test files against patched sources. Most runs share one Vitest: to start it takes longer than most of the test
// files. Tests that start processes, or read sources as files, run in a copy of the repository.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createVitest, type Vitest } from "vitest/node";
import { type PlacedMutant, type PlacedPatch, placePatches } from "./place-patches.ts";

const root = resolve(import.meta.dirname, "../..");

export class PatchedTests implements AsyncDisposable {
  #vitest: Promise<Vitest> | undefined;
  #patches: readonly PlacedPatch[] = [];

  /**
   * The first test that fails with the mutant; undefined when all pass.
   *
   * @throws Error when a patch does not match, or when no test ran
   */
  async firstFailure(mutant: PlacedMutant): Promise<string | undefined> {
    const results = await (mutant.needsCopy ? runInCopy(mutant) : this.#run(mutant));
    const ran = results.filter(({ status }) => status === "failed" || status === "passed");
    if (ran.length === 0) throw new Error(`${mutant.name}: no test of ${mutant.tests.join(", ")} ran`);
    return ran.find(({ status }) => status === "failed")?.name;
  }

  async #run(mutant: PlacedMutant): Promise<readonly TestResult[]> {
    this.#vitest ??= this.#start();
    const vitest = await this.#vitest;
    await this.#replacePatches(vitest, placePatches(mutant));
    const specifications = await vitest.globTestSpecifications([...mutant.tests]);
    if (mutant.named === undefined) vitest.resetGlobalTestNamePattern();
    else vitest.setGlobalTestNamePattern(mutant.named);
    const { testModules } = await vitest.runTestSpecifications(specifications);
    const files = new Set(specifications.map(({ moduleId }) => moduleId));
    // Those of earlier runs are included.
    return testModules
      .filter(({ moduleId }) => files.has(moduleId))
      .flatMap((module): TestResult[] => {
        const failures = module.errors().map(() => ({ name: module.moduleId, status: "failed" }));
        const tests = [...module.children.allTests()];
        return [
          ...failures,
          ...tests.map((test) => ({
            name: test.fullName.replaceAll(" > ", " "),
            status: test.result().state,
          })),
        ];
      });
  }

  #start(): Promise<Vitest> {
    return createVitest(
      "test",
      { root, watch: false, maxWorkers: 1, reporters: [{}], update: false },
      {
        plugins: [
          {
            name: "patched-sources",
            enforce: "pre",
            transform: (code, id) =>
              this.#patches
                .filter(({ path }) => join(root, path) === id)
                .reduce((text, { find, replace }) => text.replace(find, () => replace), code),
          },
        ],
      },
    );
  }

  async #replacePatches(vitest: Vitest, patches: readonly PlacedPatch[]): Promise<void> {
    const changed = [...this.#patches, ...patches].map(({ path }) => join(root, path));
    this.#patches = patches;
    for (const path of changed) vitest.invalidateFile(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#vitest)?.close();
  }
}

interface TestResult {
  readonly name: string;
  readonly status: string;
}

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

async function runInCopy(mutant: PlacedMutant): Promise<readonly TestResult[]> {
  mkdirSync(join(root, ".tmp"), { recursive: true });
  const copy = mkdtempSync(join(root, ".tmp/copy-"));
  try {
    const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root });
    for (const path of listed.toString().split("\0").filter(Boolean))
      cpSync(join(root, path), join(copy, path));
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    for (const { path, find, replace } of placePatches(mutant)) {
      const file = join(copy, path);
      writeFileSync(
        file,
        readFileSync(file, "utf8").replace(find, () => replace),
      );
    }
    const output = join(copy, "report.json");
    const names = mutant.named === undefined ? [] : ["--testNamePattern", mutant.named];
    const words = [...mutant.tests, ...names, "--maxWorkers=1", "--reporter=json", `--outputFile=${output}`];
    await run(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run", ...words], copy);
    const report = JSON.parse(readFileSync(output, "utf8")) as Report;
    return report.testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .map(({ fullName, status }) => ({ name: fullName, status }));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function run(command: string, words: readonly string[], cwd: string): Promise<void> {
  return new Promise((ended, failed) => {
    const child = spawn(command, words, { cwd, stdio: "ignore" });
    child.once("error", failed);
    // A test that fails is what is looked for.
    child.once("close", () => ended());
  });
}
