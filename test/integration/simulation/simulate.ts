// `npm run simulate -- --seed 1114`: runs one seed, and prints the end of its trace.
// `npm run prove -- --only seeds` runs many.

import { parseArgs } from "node:util";
import { loadSimulation } from "./bundles.ts";
import { formatFailure } from "./invariants.ts";

const { seed = "" } = parseArgs({ options: { seed: { type: "string" } } }).values;
if (!/^\d{1,10}$/.test(seed)) throw new Error(`--seed: expected a whole number, got ${JSON.stringify(seed)}`);

using simulation = await loadSimulation();
const report = await simulation.module.runSimulation({ seed: Number(seed) });
console.log(report.violation ? formatFailure(report) : report.traceTail.join("\n"));
process.exitCode = report.violation ? 1 : 0;
