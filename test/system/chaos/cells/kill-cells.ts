import type { KillableReceiverOptions } from "../../../support/killable-receiver.ts";
import type { ChaosCell, ChaosGroup } from "../chaos-cell.ts";
import { KillWorld } from "./kill-world.ts";
import {
  openAllStores,
  type ReceiverStores,
  receiverStores,
  type StoreName,
  storeNames,
} from "./receiver-store.ts";

export interface KillOptions {
  /** Receivers on one store. */
  readonly processes: number;
  /** How often each of them is killed in a run. */
  readonly rounds: number;
}

const nameOf = (store: StoreName, batches = false) =>
  `${storeNames[store]}: kill -9 of every receiver${batches ? " with a handler of batches" : ""}, again and again`;

export function killCell(
  stores: ReceiverStores,
  store: StoreName,
  { processes, rounds }: KillOptions,
  options?: Partial<KillableReceiverOptions>,
): ChaosCell<KillWorld> {
  return {
    name: nameOf(store, options?.batches),
    brokenMs: 0,
    start: async () => KillWorld.start(await stores.create(), processes, options),
    async inject(world, random) {
      await world.kill(random, rounds);
      return () => world.settled();
    },
  };
}

export function killGroup(): ChaosGroup {
  const stores = openAllStores();
  const cellOf = (store: StoreName, batches: boolean) =>
    killCell(stores[store], store, { processes: 2, rounds: 3 }, { batches });
  return {
    cells: [false, true].flatMap((batches) => receiverStores.map((store) => cellOf(store, batches))),
    [Symbol.asyncDispose]: stores[Symbol.asyncDispose],
  };
}
