import type { VirtualClock } from "workspace-tasks/mock-server";
import type * as ReceiverKit from "workspace-tasks/receiver-kit";
import type * as Sdk from "workspace-tasks/sdk";
import type { Chance } from "./chance.ts";
import type { CrashCounts } from "./crashes.ts";
import type { Judge } from "./invariants.ts";
import type { SimulationSettings, Trouble } from "./settings.ts";
import type { Trace } from "./trace.ts";

export type Store = ReceiverKit.Inbox<ReceiverKit.MemoryTransaction>;

/** What is simulated. A mutant replaces a part. */
export type Products = {
  readonly sdk: Pick<typeof Sdk, "createClient">;
  readonly receiverKit: Pick<typeof ReceiverKit, "createReceiver" | "memoryInbox" | "NonRetryableError">;
  /** Wraps the connection of one receiver process to its inbox. */
  readonly inbox?: (connection: Store) => Store;
  /** Makes what wraps the store that all processes share. */
  readonly store?: () => (store: Store) => Store;
};

/** What every part of one run shares. */
export type Scene = {
  readonly settings: SimulationSettings;
  readonly products: Products;
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly trace: Trace;
  readonly judge: Judge;
  readonly crashes: CrashCounts;
  /** Draws whether a trouble happens now; never once the weather is fair. */
  troubled(trouble: Trouble, chance: Chance): boolean;
  /** Ends all troubles, so that the run can come to rest. */
  clearWeather(): void;
};

export const source = "default";
