// Runs test files against patched sources: vitest.config.ts applies the patches of the file that this variable names.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Patch } from "../simulation/patched-product.ts";

const patchesVariable = "WORKSPACE_TASKS_PATCHES";

export interface PatchedTests {
  /** The first test that failed; undefined when all passed. */
  readonly failed: string | undefined;
  /** Tests that ran. */
  readonly total: number;
}

const root = resolve(import.meta.dirname, "../..");

/** @throws Error when a patch does not match, or when no test ran */
export async function runPatchedTests(
  product: string,
  patches: readonly Patch[],
  tests: readonly string[],
): Promise<PatchedTests> {
  mkdirSync(join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(join(root, ".tmp/patched-"));
  try {
    const placed = patches.map((patch) => ({ ...patch, path: pathOf(product, patch) }));
    const patchFile = join(folder, "patches.json");
    const output = join(folder, "report.json");
    writeFileSync(patchFile, JSON.stringify(placed));
    const words = ["vitest", "run", ...tests, "--maxWorkers=1", "--reporter=json", `--outputFile=${output}`];
    await run("npx", ["--no-install", ...words], { ...process.env, [patchesVariable]: patchFile });
    const report = JSON.parse(readFileSync(output, "utf8")) as Report;
    const results = report.testResults.flatMap(({ assertionResults }) => assertionResults);
    if (results.length === 0) throw new Error(`no test of ${tests.join(", ")} ran`);
    return { failed: results.find(({ status }) => status === "failed")?.fullName, total: results.length };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** The file of the product that has the text of the patch, once. */
function pathOf(product: string, { find }: Patch): string {
  const paths = readdirSync(join(root, product), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join(root, product, path));
  const found = paths.filter((path) => readFileSync(path, "utf8").includes(find));
  const [path] = found;
  if (path === undefined || found.length > 1 || readFileSync(path, "utf8").split(find).length !== 2) {
    throw new Error(`expected the text once in ${product}, found it ${found.length} times: ${find}`);
  }
  return path;
}

function run(command: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((ended, failed) => {
    const child = spawn(command, words, { cwd: root, env, stdio: "ignore" });
    child.once("error", failed);
    // A test that fails is what is looked for.
    child.once("close", () => ended());
  });
}
