import type { Random } from "../../../integration/simulation/random.ts";
import type { KillableReceiverOptions } from "../../../support/killable-receiver.ts";
import type { ChaosCell, ChaosGroup } from "../chaos-cell.ts";
import { KillWorld } from "./kill-world.ts";
import {
  openStores,
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
): ChaosCell {
  return {
    name: nameOf(store, options?.batches),
    brokenMs: 0,
    async start() {
      const world = await KillWorld.start(await stores.create(), processes, options);
      return Object.assign(world, {
        inject: (random: Random) => world.kill(random, rounds),
        repair: () => world.settled(),
      });
    },
  };
}

export function killGroup(): ChaosGroup {
  return {
    cells: [false, true].flatMap((batches) => receiverStores.map((store) => nameOf(store, batches))),
    async start() {
      const opened = { sqlite: await openStores("sqlite"), postgres: await openStores("postgres") };
      return {
        cells: [false, true].flatMap((batches) =>
          receiverStores.map((store) =>
            killCell(opened[store], store, { processes: 2, rounds: 3 }, { batches }),
          ),
        ),
        async [Symbol.asyncDispose]() {
          for (const stores of Object.values(opened)) await stores[Symbol.asyncDispose]();
        },
      };
    },
  };
}
