// What a long simulation runs, for a bundle.

export { runSeeds } from "./run-seeds.ts";
export { shrink, tellShrunk, testOf } from "./shrink.ts";
