import { type Bundle, importBundle } from "./import-bundle.ts";
import type * as Parts from "./simulation-parts.ts";

/**
 * The simulation with the products, as one file. A seed costs a quarter less than with tsx, which gives each function its
 * name when it is created. And equal seeds have equal traces: an `import()` that passes through the loader of tsx, in
 * another thread, takes a different number of turns each time.
 */
export const loadSimulation = (): Promise<Bundle<typeof Parts>> =>
  importBundle("test/integration/simulation/simulation-parts.ts");
