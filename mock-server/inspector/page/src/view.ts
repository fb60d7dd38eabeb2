import type { Filter } from "./address.ts";
import type { Overview } from "./api-types.ts";

export interface ViewProps {
  readonly id: string | null;
  readonly filter: Filter;
  readonly overview: Overview | undefined;
  /** The mock's time. */
  readonly nowMs: number;
}
