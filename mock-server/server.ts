import { version as eventsVersion } from "@workspace-tasks/events/catalog";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { nodeProblem } from "@workspace-tasks/kernel/node-version.ts";
import { version } from "@workspace-tasks/kernel/version.ts";
import { versionMismatch } from "@workspace-tasks/kernel/version-mismatch.ts";
import { invalidOption } from "./checks/check-options.ts";
import { wrongFaultRule } from "./control/faults/check-fault-plan.ts";
import { MockServerError } from "./errors.ts";
import { type HttpListener, listenHttp } from "./http/listener.ts";
import { createHandler } from "./http/router.ts";
import type { Service } from "./http/service.ts";
import { hostWorld, type MockWorld, toMockWorld } from "./mock-world.ts";
import { createNamedWorlds, type MockWorlds } from "./named-worlds.ts";
import { createHttpTransport } from "./outbound/http-transport.ts";
import { createInProcessTransport } from "./outbound/in-process-transport.ts";
import type { Transport } from "./outbound/port.ts";
import { checkMockOptions, type MockServerOptions } from "./server-options.ts";
import { withSettings } from "./settings/settings.ts";
import { realClock } from "./time/real-clock.ts";
import { createVirtualClock, type VirtualClock } from "./time/virtual-clock.ts";

/** A running mock. It has a world of its own, and any number of others. */
export interface MockServer extends MockWorld {
  readonly worlds: MockWorlds;
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
 * Starts a mock of the whole service. Guide: `docs/mock-server.md` in the package.
 *
 * @example examples/mock-server.test.ts#in-process
 * ```ts
 * it("a client calls the mock in its process, without a port", async () => {
 *   await using mock = await createMockServer({ listen: false });
 *   const { apiKey, baseUrl, fetch } = mock;
 *   await using client = createClient({ apiKey, baseUrl, fetch });
 *   expect((await client.me()).__typename).toBe("WorkspaceUser");
 * });
 * ```
 *
 * @throws MockServerError CONFIGURATION_INVALID for a wrong option, VERSION_MISMATCH; Error with code EADDRINUSE for a port in use
 */
export async function createMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  const problem = nodeProblem();
  if (problem) throw invalidOption("createMockServer", "", problem);
  const mismatch = versionMismatch("@workspace-tasks/mock-server", "@workspace-tasks/events", eventsVersion);
  if (mismatch) throw new MockServerError("VERSION_MISMATCH", mismatch);
  await checkMockOptions(options);
  const clock = clockOf(options.clock ?? "real");
  const settings = withSettings(options.settings);
  const { seed = 1, faults } = options;
  const shared = { seed, settings, faults, version };
  let origin = "";
  const named = createNamedWorlds({
    shared,
    main: () => main,
    origin: () => origin,
    createTransport: () => transportOf(options),
    onVirtualClock: () => listener?.watchClients(),
  });
  const main = hostWorld({
    ...shared,
    name: null,
    clock,
    transport: transportOf(options),
    named: named.services,
    directory: named.directory,
  });
  const wrong = faults && wrongFaultRule(main.worlds.current, faults);
  if (wrong) {
    main.end();
    throw invalidOption("createMockServer", `faults.${wrong.path}`, wrong.message);
  }
  const listener: HttpListener | null = await listenIfEnabled(options, main.service).catch(
    (error: unknown) => {
      main.end();
      throw error;
    },
  );
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

function transportOf(options: MockServerOptions): Transport {
  const { receivers, checkConnection, trustedCertificates, deliverOnly } = options;
  const sockets = createHttpTransport({ trustedCertificates, loopbackOnly: deliverOnly === "loopback" });
  const transport = receivers ? createInProcessTransport(receivers, sockets) : sockets;
  return checkConnection ? { ...transport, checkConnection } : transport;
}

async function listenIfEnabled(
  { listen = true, host = "127.0.0.1", port = 0, hostsAllowed = [], originsAllowed = [] }: MockServerOptions,
  service: Service,
): Promise<HttpListener | null> {
  if (!listen) return null;
  const handler = createHandler(service);
  return listenHttp({ service, handler, host, port, hostsAllowed, originsAllowed });
}
