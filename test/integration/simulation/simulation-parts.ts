// What a long simulation runs, for a bundle.

export { runSeeds } from "./run-seeds.ts";
export { runSimulation } from "./simulation.ts";
