import type { SettingsChanges } from "../../settings.ts";
import type { Snapshot } from "../../snapshot/snapshot-schema.ts";
import type { FaultPlan } from "../../state/fault.ts";
import type { WorldView } from "../contract/worlds.ts";

/** The name of the mock's own world; it has no prefix and cannot be dropped. */
export const mainWorld = "main";

export interface NewWorld {
  /** Part of its URLs: `/w/{name}/graphql`. Default: `world-1`, `world-2`, …. */
  readonly name?: string | undefined;
  /** Default: from the mock's seed and the name, or that of its origin. */
  readonly seed?: number | undefined;
  /** Default: as that of its origin, or of the mock. */
  readonly clock?: "real" | "virtual" | undefined;
  /** Name of a world to copy, `main` for the mock's own. */
  readonly from?: string | undefined;
  /** Snapshot to start from. */
  readonly snapshot?: Snapshot | undefined;
  /** Injected from the start; a reset restores them. Default: those of the mock's options. */
  readonly faults?: FaultPlan | undefined;
  /** Changes to the mock's settings. */
  readonly settings?: SettingsChanges | undefined;
}

/** The worlds of a mock by name. */
export interface WorldDirectory {
  /** @throws MockServerError CONFLICT for a name in use, or past 2,000 worlds */
  create(input: NewWorld): Promise<WorldView>;
  list(): WorldView[];
  /** @throws MockServerError NOT_FOUND */
  get(name: string): WorldView;
  /** @throws MockServerError NOT_FOUND; CONFLICT for the mock's own world */
  drop(name: string): void;
}
