// `npm run prove -- --minutes 10`: known bugs and the model, then every scope of the explorer and seeds of the simulation,
// for as long as there is time. Its state is kept by commit, so the next run continues; `--record` writes what was done to docs/proof.md.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { compareNext } from "../differential/compare-next.ts";
import { explore, type SavedExploration } from "../explorer/explore.ts";
import { explorerMutants } from "../explorer/explorer-mutants.ts";
import { loadProducts, scopeNamed, scopes } from "../explorer/scopes.ts";
import { summary, tell } from "../explorer/story.ts";
import { formatFailure } from "../simulation/failure-report.ts";
import { noFaults } from "../simulation/faults.ts";
import { mutants, productsOf } from "../simulation/mutants.ts";
import { runSeeds } from "../simulation/run-seeds.ts";
import { findingMutants } from "./finding-mutants.ts";
import { createState, type ProofState, type ScopeResult } from "./proof-state.ts";
import { modelMissing, proveModel } from "./prove-model.ts";
import { recordProof } from "./record-proof.ts";
import { PatchedTests } from "./run-patched-tests.ts";

const usage = `usage: npm run prove -- [--minutes 10] [--only mutants|model|explorer|seeds|differential] [--from N] [--record] [--fresh]

  --minutes N   how long to run. Default: 10
  --only PART   only one part
  --from N      the first seed of a new state. Default: 1
  --record      write what was done to docs/proof.md
  --fresh       forget what earlier runs of this commit have done
`;

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".tmp/prove");

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (!options) {
    process.stderr.write(usage);
    return 2;
  }
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], {
    cwd: root,
    encoding: "utf8",
  }).trim();
  const path = join(folder, `${commit}.json`);
  mkdirSync(folder, { recursive: true });
  const state = { ...createState(commit, options.from), ...(options.fresh ? undefined : readState(path)) };
  const endMs = performance.now() + options.minutes * 60_000;
  const leftMs = () => endMs - performance.now();
  const save = () => writeFileSync(path, JSON.stringify(state));
  const wants = (part: string) => options.only === undefined || options.only === part;

  if (wants("mutants")) await findMutants(state, leftMs, save);
  if (wants("model") && leftMs() > 0) {
    const missing = modelMissing();
    if (missing !== undefined) print(`the model is not checked: ${missing}`);
    else
      await proveModel(state, leftMs, (text) => {
        print(text);
        save();
      });
  }
  while (leftMs() > 0 && options.only !== "mutants" && options.only !== "model") {
    const isComparing =
      wants("differential") && (await compareNext(state.differential, Math.min(sliceMs, leftMs()), print));
    save();
    const isExploring = wants("explorer") && (await exploreNext(state, Math.min(sliceMs, leftMs())));
    save();
    if (wants("seeds") && leftMs() > 0) await runSomeSeeds(state, Math.min(sliceMs, leftMs()));
    save();
    if (!isExploring && !isComparing && !wants("seeds")) break;
    if (state.seeds.failure !== undefined) break;
  }
  print(summarise(state));
  if (options.record) recordProof(join(root, "docs/proof.md"), state);
  return isProved(state) ? 0 : 1;
}

const sliceMs = 60_000;

async function findMutants(state: ProofState, leftMs: () => number, save: () => void): Promise<void> {
  const found = async (name: string, by: string, bug: string, find: () => Promise<string | undefined>) => {
    if (state.mutants[name] || leftMs() <= 0) return;
    const counterexample = await find();
    state.mutants[name] = { by, bug, counterexample: counterexample ?? null };
    print(`${counterexample === undefined ? "NOT FOUND" : "found"}: ${name} (${bug}), by ${by}`);
    if (counterexample !== undefined) print(counterexample.replaceAll(/^/gm, "    "));
    save();
  };
  for (const mutant of explorerMutants) {
    await found(`explorer/${mutant.name}`, `the explorer, ${mutant.scope}`, mutant.bug, async () => {
      using products = await loadProducts(mutant);
      const { counterexample } = await explore(await products.create(scopeNamed(mutant.scope)), {
        budgetMs: Math.max(1, leftMs()),
      });
      return counterexample && tell(counterexample);
    });
  }
  await using patchedTests = new PatchedTests();
  for (const mutant of findingMutants) {
    await found(`tests/${mutant.name}`, mutant.tests[0] ?? "", mutant.finding, () =>
      patchedTests.firstFailure(mutant),
    );
  }
  for (const mutant of mutants) {
    await found(`simulation/${mutant.name}`, "the simulation", mutant.bug, async () => {
      using mutated = await productsOf(mutant);
      const { failed } = await runSeeds({ from: 1, count: 500, products: mutated.products });
      return (
        failed &&
        `seed ${failed.seed}, step ${failed.steps}: ${failed.violation?.invariant}: ${failed.violation?.message}`
      );
    });
  }
}

/** Continues the scope that was explored for the shortest time. False when there is none. */
async function exploreNext(state: ProofState, budgetMs: number): Promise<boolean> {
  const open = scopes.filter(({ name }) => {
    const { isComplete = false, violation = null } = state.scopes[name] ?? {};
    return !isComplete && violation === null;
  });
  const [next] = open.sort((a, b) => elapsedOf(state, a.name) - elapsedOf(state, b.name));
  if (!next) return false;
  using products = await loadProducts();
  const savedPath = join(folder, `${state.commit}-${next.name}.json`);
  const resume = state.scopes[next.name] && (readJson(savedPath) as SavedExploration | undefined);
  const exploration = await explore(await products.create(next), { budgetMs, resume });
  const { schedules, states, ends, depth, elapsedMs, isComplete, counterexample, saved } = exploration;
  const violation = counterexample ? tell(counterexample) : null;
  state.scopes[next.name] = {
    schedules,
    states,
    ends,
    depth,
    elapsedMs,
    isComplete,
    violation,
  } satisfies ScopeResult;
  writeFileSync(savedPath, JSON.stringify(saved ?? null));
  print(summary(exploration));
  if (violation !== null) print(violation);
  return true;
}

const elapsedOf = (state: ProofState, name: string) => state.scopes[name]?.elapsedMs ?? 0;

async function runSomeSeeds({ seeds }: ProofState, budgetMs: number): Promise<void> {
  const endMs = performance.now() + budgetMs;
  const faults = { ...noFaults(), ...seeds.faults };
  while (performance.now() < endMs && seeds.failure === undefined) {
    const { failed, totals } = await runSeeds({ from: seeds.next, count: 20 });
    seeds.next += totals.seeds;
    seeds.count += totals.seeds;
    seeds.deliveries += totals.deliveries;
    for (const [kind, count] of Object.entries(totals.faults)) faults[kind as keyof typeof faults] += count;
    seeds.faults = faults;
    if (failed) seeds.failure = formatFailure(failed);
  }
  print(`seeds: ${seeds.count} until ${seeds.next - 1}, ${seeds.deliveries} deliveries`);
  if (seeds.failure !== undefined) print(seeds.failure);
}

function isProved({
  mutants: tried,
  scopes: explored,
  models,
  modelMutants,
  replays,
  seeds,
  differential,
}: ProofState): boolean {
  const areFound = Object.values({ ...tried, ...modelMutants }).every(
    ({ counterexample }) => counterexample !== null,
  );
  const areSound = Object.values(explored).every(({ violation }) => violation === null);
  const areEqual = Object.values(differential).every(({ failure }) => failure === undefined);
  const isModelSound = Object.values(models).every(({ violation }) => violation === null);
  const isModelRight = Object.values(replays).every(({ difference }) => difference === null);
  return areFound && areSound && areEqual && isModelSound && isModelRight && seeds.failure === undefined;
}

function summarise({
  mutants: tried,
  scopes: explored,
  models,
  replays,
  seeds,
  differential,
}: ProofState): string {
  const all = Object.values(tried);
  const complete = Object.values(explored).filter(({ isComplete }) => isComplete);
  const states = Object.values(explored).reduce((sum, scope) => sum + scope.states, 0);
  const replayed = Object.values(replays).reduce((sum, { calls }) => sum + calls, 0);
  return [
    `mutants: ${all.filter(({ counterexample }) => counterexample !== null).length} of ${all.length} found`,
    `model: ${Object.keys(models).length} checks, ${replayed} calls replayed`,
    `explorer: ${complete.length} of ${scopes.length} scopes complete, ${states} states`,
    `simulation: ${seeds.count} seeds`,
    ...Object.entries(differential).map(([name, { count }]) => `differential, ${name}: ${count} cases`),
  ].join("\n");
}

function readState(path: string): ProofState | undefined {
  return readJson(path) as ProofState | undefined;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) ?? undefined;
  } catch {
    return undefined; // there is none yet
  }
}

const print = (text: string) => void process.stdout.write(`${text}\n`);

function readArguments(args: readonly string[]) {
  const string = { type: "string" } as const;
  const boolean = { type: "boolean", default: false } as const;
  try {
    const options = { minutes: string, only: string, from: string, record: boolean, fresh: boolean };
    const {
      minutes = "10",
      only,
      from = "1",
      record,
      fresh,
    } = parseArgs({ args: [...args], options }).values;
    const isKnown =
      only === undefined || ["mutants", "model", "explorer", "seeds", "differential"].includes(only);
    if (!isKnown || !(Number(minutes) >= 0) || !(Number(from) >= 1)) return undefined;
    return { minutes: Number(minutes), only, from: Number(from), record, fresh };
  } catch {
    return undefined; // an unknown option
  }
}

process.exitCode = await main(process.argv.slice(2));
