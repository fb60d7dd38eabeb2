import { packReleases, type Releases } from "../../../support/releases.ts";
import type { ChaosCell, ChaosGroup } from "../chaos-cell.ts";
import { openAllStores, receiverStores, type StoreName, storeNames } from "./receiver-store.ts";
import { ReleaseWorld } from "./release-world.ts";

/** Each run loads nine processes. */
export function releaseGroup(): ChaosGroup {
  const stores = openAllStores();
  let releases: Releases | undefined;
  const cellOf = (store: StoreName): ChaosCell<ReleaseWorld> => ({
    name: `${storeNames[store]}: a release rolls forward, back and forward with kill -9, until the former one is too old`,
    brokenMs: 0,
    // The schema only gets newer.
    usesUpWorld: true,
    load: { tasks: 500, beforeMs: 400, afterMs: 400, gapMs: 150, drainTimeoutMs: 60_000 },
    async start() {
      releases ??= packReleases();
      return ReleaseWorld.start(await stores[store].create(), releases);
    },
    async inject(world, random) {
      await world.rollForwardAndBack(random);
      return () => world.excludeFormerRelease();
    },
  });
  return { cells: receiverStores.map(cellOf), [Symbol.asyncDispose]: stores[Symbol.asyncDispose] };
}
