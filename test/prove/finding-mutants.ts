// Faults that earlier versions had, or that a review from outside found, put back into the present code. Those that the
// simulation and the explorer find are listed with them; of the others, the named tests must fail.

import type { FindingMutant } from "./finding-mutant.ts";
import { inspectorFindingMutants } from "./inspector-finding-mutants.ts";
import { mockFindingMutants } from "./mock-finding-mutants.ts";
import type { PlacedMutant } from "./place-patches.ts";
import { receiverFindingMutants } from "./receiver-finding-mutants.ts";
import { sdkFindingMutants } from "./sdk-finding-mutants.ts";
import { toolFindingMutants } from "./tool-finding-mutants.ts";

const inFolder = (folder: string, mutants: readonly FindingMutant[]): readonly PlacedMutant[] =>
  mutants.map((mutant) => ({ ...mutant, folder: mutant.folder ?? folder }));

export const findingMutants: readonly PlacedMutant[] = [
  ...inFolder("sdk", sdkFindingMutants),
  ...inFolder("mock-server", mockFindingMutants),
  ...inFolder("receiver-kit", receiverFindingMutants),
  ...inFolder("mock-server", toolFindingMutants),
  ...inFolder("mock-server", inspectorFindingMutants),
];
