import type { Fault } from "./faults.ts";
import type { SimulationSettings } from "./settings.ts";

/** What a run leaves out of what its seed says. */
export interface Reduction {
  /** Steps that do nothing but let time pass, by number. */
  readonly steps: ReadonlySet<number>;
  /** Kinds of faults that never occur. */
  readonly faults: ReadonlySet<Fault>;
  /** Single faults that do not occur, by their number among all that were drawn. */
  readonly occurrences: ReadonlySet<number>;
  readonly settings: Partial<SimulationSettings>;
}

export const nothingReduced: Reduction = {
  ...{ steps: new Set(), faults: new Set(), occurrences: new Set(), settings: {} },
};
