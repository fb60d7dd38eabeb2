import { version as eventsVersion } from "@workspace-tasks/events/catalog";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { version, versionMismatch } from "@workspace-tasks/kernel/version.ts";
import { invalidOption } from "./checks.ts";
import { MockServerError } from "./errors.ts";
import { wrongFaultRule } from "./graphql/checks.ts";
import type { Service } from "./http/router.ts";
import { hostWorld, type MockWorld, toMockWorld, type WorldSetup } from "./mock-world.ts";
import { createNamedWorlds, type MockWorlds } from "./named-worlds.ts";
import { createInProcessTransport, type Transport } from "./outbound.ts";
import { checkMockOptions, type MockServerOptions } from "./server-options.ts";
import { withSettings } from "./settings/settings.ts";
import { realClock } from "./time/real-clock.ts";
import { createVirtualClock, type VirtualClock } from "./time/virtual-clock.ts";

/** A running mock. It has a world of its own, and any number of others. */
export interface MockServer extends MockWorld {
  readonly worlds: MockWorlds;
}

/** What a mock needs besides the globals of the web. */
export interface Platform extends Pick<WorldSetup, "hashing" | "pageFiles"> {
  /** Carries deliveries to other computers, and downloads. */
  createTransport(options: MockServerOptions): Transport;
  /** Serves the world, and those below it, on a port; `null` when the options want none. */
  listen(service: Service, options: MockServerOptions): Promise<Listener | null>;
}

export interface Listener {
  /** For example `http://127.0.0.1:4010`. */
  readonly origin: string;
  /** Makes virtual clocks wait for requests in flight. Called when the first world has one. */
  watchClients(): void;
  /** Stops listening and closes every open connection. */
  close(): Promise<void>;
}

// Clients have one rate limiter per key and URL in a process, and equal seeds yield equal keys: two mocks without a
// port must have different URLs, also when two copies of this module created them.
const portlessCount = Symbol.for("workspace-tasks/portless-mocks/v1");

function nextPortlessNumber(): number {
  const number = Number(Reflect.get(globalThis, portlessCount) ?? 0) + 1;
  Reflect.set(globalThis, portlessCount, number);
  return number;
}

/**
 * Starts a mock on a platform.
 * @throws MockServerError CONFIGURATION_INVALID for a wrong option, VERSION_MISMATCH; what `platform.listen` rejects with
 */
export async function createMock(options: MockServerOptions, platform: Platform): Promise<MockServer> {
  const mismatch = versionMismatch("@workspace-tasks/mock-server", "@workspace-tasks/events", eventsVersion);
  if (mismatch) throw new MockServerError("VERSION_MISMATCH", mismatch);
  await checkMockOptions(options);
  const clock = clockOf(options.clock ?? "real");
  const settings = withSettings(options.settings);
  const { seed = 1, faults } = options;
  const { hashing, pageFiles } = platform;
  const shared = { seed, settings, faults, version, hashing, pageFiles };
  let origin = "";
  const named = createNamedWorlds({
    shared,
    main: () => main,
    origin: () => origin,
    createTransport: () => transportOf(options, platform),
    onVirtualClock: () => listener?.watchClients(),
  });
  const main = hostWorld({
    ...shared,
    name: null,
    clock,
    transport: transportOf(options, platform),
    named: named.services,
    directory: named.directory,
  });
  const wrong = faults && wrongFaultRule(main.worlds.current, faults);
  if (wrong) {
    main.end();
    throw invalidOption("createMockServer", `faults.${wrong.path}`, wrong.message);
  }
  const listener = await platform.listen(main.service, options).catch((error: unknown) => {
    main.end();
    throw error;
  });
  if ("hold" in clock) listener?.watchClients();
  origin = listener?.origin ?? `http://mock-${nextPortlessNumber()}.localhost`;

  const stop = async () => {
    named.end();
    main.end();
    await listener?.close();
  };
  let stopping: Promise<void> | undefined;
  const close = () => {
    stopping ??= stop();
    return stopping;
  };
  return Object.assign(toMockWorld(main, origin, close), { worlds: named.facade });
}

function clockOf(choice: NonNullable<MockServerOptions["clock"]>): Clock | VirtualClock {
  if (choice === "real") return realClock;
  return choice === "virtual" ? createVirtualClock() : choice;
}

function transportOf(options: MockServerOptions, platform: Platform): Transport {
  const { receivers, checkConnection } = options;
  const others = platform.createTransport(options);
  const transport = receivers ? createInProcessTransport(receivers, others) : others;
  return checkConnection ? { ...transport, checkConnection } : transport;
}
