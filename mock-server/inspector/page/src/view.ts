import type { Overview } from "@workspace-tasks/mock-server/control";
import type { Filter } from "./address.ts";

export interface ViewProps {
  readonly id: string | null;
  readonly filter: Filter;
  readonly overview: Overview | undefined;
}

/** `Tasks` of the view `tasks`. */
export const titleOf = (view: string) => `${view.charAt(0).toUpperCase()}${view.slice(1)}`;
