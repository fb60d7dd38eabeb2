// `npm run simulate -- --seed 1114 [--mutant NAME]`: runs one seed, with a known bug or none, and prints the end of its trace.
// `npm run prove -- --only seeds` runs many.

import { parseArgs } from "node:util";
import { formatFailure } from "./failure-report.ts";
import { loadSimulation } from "./load-simulation.ts";
import { mutants, productsOf } from "./mutants.ts";

const { seed = "", mutant: name } = parseArgs({
  options: { seed: { type: "string" }, mutant: { type: "string" } },
}).values;
if (!/^\d{1,10}$/.test(seed)) throw new Error(`--seed: expected a whole number, got ${JSON.stringify(seed)}`);
const mutant = mutants.find((each) => each.name === name);
if (name !== undefined && !mutant)
  throw new Error(`--mutant: expected ${mutants.map((each) => each.name).join(", ")}, got ${name}`);

using mutated = mutant && (await productsOf(mutant));
using simulation = await loadSimulation();
const report = await simulation.module.runSimulation({ seed: Number(seed), products: mutated?.products });
console.log(report.violation ? formatFailure(report, name) : report.traceTail.join("\n"));
process.exitCode = report.violation ? 1 : 0;
