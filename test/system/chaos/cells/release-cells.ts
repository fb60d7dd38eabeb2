import type { Random } from "../../../integration/simulation/random.ts";
import { packReleases } from "../../../support/releases.ts";
import type { ChaosCell, ChaosGroup } from "../chaos-cell.ts";
import { openStores, receiverStores, type StoreName, storeNames } from "./receiver-store.ts";
import { ReleaseWorld } from "./release-world.ts";

const nameOf = (store: StoreName) =>
  `${storeNames[store]}: a release rolls forward, back and forward with kill -9, until the former one is too old`;

/** Each run loads nine processes. */
export function releaseGroup(): ChaosGroup {
  return {
    cells: receiverStores.map(nameOf),
    async start() {
      const releases = packReleases();
      const opened = { sqlite: await openStores("sqlite"), postgres: await openStores("postgres") };
      const cellOf = (store: StoreName): ChaosCell => ({
        name: nameOf(store),
        brokenMs: 0,
        // The schema only gets newer.
        usesUpWorld: true,
        load: { tasks: 500, beforeMs: 400, afterMs: 400, gapMs: 150, drainTimeoutMs: 60_000 },
        async start() {
          const world = await ReleaseWorld.start(await opened[store].create(), releases);
          return Object.assign(world, {
            inject: (random: Random) => world.rollForwardAndBack(random),
            repair: () => world.excludeFormerRelease(),
          });
        },
      });
      return {
        cells: receiverStores.map(cellOf),
        async [Symbol.asyncDispose]() {
          for (const stores of Object.values(opened)) await stores[Symbol.asyncDispose]();
        },
      };
    },
  };
}
