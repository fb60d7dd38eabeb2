// `npm run prove -- --minutes 10`: known bugs and the model, then every scope of the explorer and seeds of the simulation,
// for as long as there is time. What is done is kept by the hash of the sources that it depends on, so the next run
// continues; `--record` writes it to docs/proof.md.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { scopes } from "../explorer/scopes.ts";
import { type ProofPart, proofParts, root } from "./proof-inputs.ts";
import { ProofPlan } from "./proof-plan.ts";
import { ProofProcesses } from "./proof-processes.ts";
import { openState, type ProofState, saveState, seedCount } from "./proof-state.ts";
import { modelMissing, proveModel } from "./prove-model.ts";
import { recordProof } from "./record-proof.ts";

const usage = `usage: npm run prove -- [--minutes 10] [--processes 1] [--only PART] [--from N] [--record] [--fresh]

  --minutes N    how long to run. Default: 10
  --processes N  how many processes share the work. Default: 1
  --only PART    only one part: ${proofParts.join(", ")}
  --from N       the first seed; those that have run are skipped. Default: 1
  --record       write what was done to docs/proof.md
  --fresh        forget what earlier runs on the same sources have done
`;

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (!options) {
    process.stderr.write(usage);
    return 2;
  }
  const state = openState(options);
  const endMs = performance.now() + options.minutes * 60_000;
  const leftMs = () => endMs - performance.now();
  const wants = (part: ProofPart) => options.only === undefined || options.only === part;
  if (options.minutes > 0) {
    using processes = new ProofProcesses(options.processes);
    const plan = new ProofPlan(state, options.from, wants, leftMs);
    await processes.run(() => plan.nextMutant());
    if (wants("model") && leftMs() > 0) await checkModel(state, leftMs);
    await processes.run(() => plan.next());
  }
  print(summarise(state));
  if (options.record) recordProof(join(root, "docs/proof.md"), state);
  return isProved(state) ? 0 : 1;
}

async function checkModel(state: ProofState, leftMs: () => number): Promise<void> {
  const missing = modelMissing();
  if (missing !== undefined) return print(`the model is not checked: ${missing}`);
  await proveModel(state, leftMs, (text) => {
    print(text);
    saveState(state, "model");
  });
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
  return areFound && areSound && areEqual && isModelSound && isModelRight && seeds.failures.length === 0;
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
  const failed = seeds.failures.map(({ seed }) => seed);
  return [
    `mutants: ${all.filter(({ counterexample }) => counterexample !== null).length} of ${all.length} found`,
    `model: ${Object.keys(models).length} checks, ${replayed} calls replayed`,
    `explorer: ${complete.length} of ${scopes.length} scopes complete, ${states} states`,
    `simulation: ${seedCount(seeds)} seeds, ${failed.length === 0 ? "none failed" : `failed: ${failed.join(", ")}`}`,
    ...Object.entries(differential).map(([name, { count }]) => `differential, ${name}: ${count} cases`),
  ].join("\n");
}

const print = (text: string) => void process.stdout.write(`${text}\n`);

function readArguments(args: readonly string[]) {
  const string = { type: "string" } as const;
  const boolean = { type: "boolean", default: false } as const;
  const options = {
    ...{ minutes: string, processes: string, only: string, from: string, record: boolean, fresh: boolean },
  };
  try {
    const { values } = parseArgs({ args: [...args], options });
    const { minutes = "10", processes = "1", from = "1", record, fresh } = values;
    const only = proofParts.find((part) => part === values.only);
    const isKnown = values.only === undefined || only !== undefined;
    if (!isKnown || !(Number(minutes) >= 0) || !(Number(from) >= 1)) return undefined;
    if (!/^[1-9]\d?$/.test(processes)) return undefined;
    const numbers = { minutes: Number(minutes), processes: Number(processes), from: Number(from) };
    return { ...numbers, only, record, fresh };
  } catch {
    return undefined; // an unknown option
  }
}

process.exitCode = await main(process.argv.slice(2));
