// The worlds of a mock besides its own. Each one has a seed, clock, settings, transport and state of its own; they share
// the listening socket, the schemas, and the cache of parsed documents.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { NewWorld, WorldDirectory } from "./control/worlds.ts";
import { MockServerError } from "./errors.ts";
import { checkFaultPlan } from "./graphql/checks.ts";
import type { Service } from "./http/router.ts";
import {
  type HostedWorld,
  hostWorld,
  type MockWorld,
  mainWorld,
  toMockWorld,
  type WorldSetup,
} from "./mock-world.ts";
import { withSettings, worldsMax } from "./settings/settings.ts";
import { restoreWorld, takeSnapshot } from "./snapshot/snapshot.ts";
import type { Snapshot } from "./snapshot/snapshot-schema.ts";
import { realClock } from "./time/real-clock.ts";
import { createVirtualClock } from "./time/virtual-clock.ts";

/** Worlds of one mock by name. */
export interface MockWorlds {
  /**
   * Creates an isolated world; rejects with CONFLICT for a name in use, and past 2,000 worlds.
   *
   * @example examples/worlds.test.ts#worlds
   */
  create(options?: NewWorld): Promise<MockWorld>;
  /** `undefined` when there is none. */
  get(name: string): MockWorld | undefined;
  /** All but the mock's own. */
  list(): MockWorld[];
}

export interface NamedWorldsOptions {
  /** What worlds have in common with the mock's own. */
  readonly shared: Omit<WorldSetup, "name" | "clock" | "transport" | "named" | "directory">;
  readonly main: () => HostedWorld;
  readonly origin: () => string;
  /** Default: 2,000. */
  readonly max?: number | undefined;
  createTransport(): WorldSetup["transport"];
  /** Called when a world with a virtual clock is created. */
  onVirtualClock(): void;
}

export interface NamedWorlds {
  readonly services: ReadonlyMap<string, Service>;
  readonly directory: WorldDirectory;
  readonly facade: MockWorlds;
  /** Drops all of them. */
  end(): void;
}

interface Entry {
  readonly hosted: HostedWorld;
  readonly world: MockWorld;
}

export function createNamedWorlds(options: NamedWorldsOptions): NamedWorlds {
  const { shared, main, origin: mockOrigin, max = worldsMax, createTransport } = options;
  const entries = new Map<string, Entry>();
  const services = new Map<string, Service>();
  let counter = 0;

  const find = (name: string): HostedWorld => {
    const found = name === mainWorld ? main() : entries.get(name)?.hosted;
    if (!found) throw new MockServerError("NOT_FOUND", `world ${JSON.stringify(name)} not found`);
    return found;
  };

  const drop = (name: string): void => {
    if (name === mainWorld) {
      throw new MockServerError(
        "CONFLICT",
        "the mock's own world cannot be dropped; reset it, or stop the mock",
      );
    }
    find(name).end();
    entries.delete(name);
    services.delete(name);
  };

  const freeName = (): string => {
    let name: string;
    do name = `world-${++counter}`;
    while (entries.has(name));
    return name;
  };

  const add = async (input: NewWorld): Promise<Entry> => {
    const { from, settings, faults = shared.faults } = input;
    const source = from === undefined ? main() : find(from);
    const origin = await originOf(input, source);
    // Nothing is awaited from here on: two worlds that are created at once cannot get one name.
    const { emit } = main().worlds.current;
    const name = checkedName(input.name);
    const seed = input.seed ?? origin?.seed ?? seedOf(shared, name);
    const ownSettings = withSettings(
      settings,
      from === undefined ? shared.settings : source.worlds.current.settings,
    );
    const hosted = hostWorld({
      ...shared,
      name,
      seed,
      faults,
      clock: clockLike(source.setup.clock, input.clock),
      settings: ownSettings,
      transport: createTransport(),
      named: new Map(),
      directory: null,
    });
    if (origin) {
      const world = restoreWorld(hosted.worlds, origin);
      if (input.faults) world.faults.replace(input.faults);
    }
    try {
      if (input.faults) checkFaultPlan(hosted.worlds.current, input.faults);
    } catch (error) {
      hosted.end();
      throw error;
    }
    if ("hold" in hosted.setup.clock) options.onVirtualClock();
    const close = async () => {
      if (entries.get(name)?.hosted === hosted) drop(name);
    };
    const entry = { hosted, world: toMockWorld(hosted, mockOrigin(), close) };
    entries.set(name, entry);
    emit({ type: "world.created", name });
    services.set(name, hosted.service);
    return entry;
  };

  const checkedName = (wanted: string | undefined): string => {
    if (wanted === mainWorld || (wanted !== undefined && entries.has(wanted))) {
      throw new MockServerError("CONFLICT", `there is a world ${JSON.stringify(wanted)} already`);
    }
    if (entries.size < max) return wanted ?? freeName();
    throw new MockServerError("CONFLICT", `the mock has ${max} worlds; drop one`);
  };

  return {
    services,
    directory: {
      create: async (input) => (await add(input)).hosted.view(mockOrigin()),
      list: () =>
        [main(), ...[...entries.values()].map(({ hosted }) => hosted)].map((each) => each.view(mockOrigin())),
      drop,
    },
    facade: {
      async create(input = {}) {
        // Loaded when first needed, with zod.
        const { checkRouteInput } = await import("./control/route.ts");
        const { mockRoutes } = await import("./control/mock.ts");
        return (await add(checkRouteInput(mockRoutes.createWorld, input) as NewWorld)).world;
      },
      get: (name) => entries.get(name)?.world,
      list: () => [...entries.values()].map(({ world }) => world),
    },
    end() {
      for (const name of [...entries.keys()]) drop(name);
    },
  };
}

/** What a world starts from; `null` for one that starts from its seed. */
async function originOf(input: NewWorld, { worlds }: HostedWorld): Promise<Snapshot | null> {
  if (input.from === undefined && input.snapshot === undefined) return null;
  if (input.from !== undefined && input.snapshot !== undefined) {
    throw new MockServerError("BODY_INVALID", "expected from or snapshot, got both");
  }
  if (input.seed !== undefined) {
    throw new MockServerError("BODY_INVALID", "seed: a copy has the seed of its origin");
  }
  if (!input.snapshot) return structuredClone(takeSnapshot(worlds.current, worlds.seedData.workspaceId));
  // Loaded when first needed, with zod.
  const { readSnapshot } = await import("./snapshot/read-snapshot.ts");
  return readSnapshot(input.snapshot);
}

/** A name has the same seed in every run, in whichever order worlds are created. */
const seedOf = ({ seed, hashing }: NamedWorldsOptions["shared"], name: string): number =>
  Number.parseInt(hashing.sha256(`${seed}/world/${name}`).slice(0, 12), 16);

function clockLike(clock: WorldSetup["clock"], mode: NewWorld["clock"]): WorldSetup["clock"] {
  const isVirtual = "advance" in clock;
  const wanted = mode ?? (isVirtual ? "virtual" : "real");
  if (wanted === "virtual") return createVirtualClock(isVirtual ? clock.startMs : undefined);
  return isVirtual ? realClock : (clock as Clock);
}
