import type { Patch } from "../simulation/patched-product.ts";

/** A fault that an earlier version had, put back into the present code. */
export interface FindingMutant {
  readonly name: string;
  /** What a user would see. */
  readonly finding: string;
  /** Files of which a test must fail. */
  readonly tests: readonly string[];
  /** Only tests whose names match are run. Default: all. */
  readonly named?: string | undefined;
  /** Folder of the patched sources, where it is not that of the product. */
  readonly folder?: string | undefined;
  readonly patches: readonly Patch[];
  /**
   * The tests start processes, or build or read the sources themselves, so the patches are written into a copy of the
   * repository. Default: false.
   */
  readonly needsCopy?: boolean | undefined;
}
