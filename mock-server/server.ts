import { createRequire } from "node:module";
import { type ControlApi, createControlApi, createControls } from "./control/control-api.ts";
import type { EventStream } from "./control/event-stream.ts";
import { type HttpListener, listenHttp } from "./http/listener.ts";
import { createHandler, type Service } from "./http/router.ts";
import { createHttpTransport } from "./outbound/http-transport.ts";
import { createInProcessTransport } from "./outbound/in-process-transport.ts";
import type { Transport } from "./outbound/port.ts";
import { seedWorld } from "./rules/workspaces/seed-world.ts";
import { checkMockOptions, type MockServerOptions } from "./server-options.ts";
import { type Settings, withSettings } from "./settings.ts";
import { type Clock, createRealClock } from "./time/clock.ts";
import { createMockClock, type MockClock } from "./time/mock-clock.ts";
import { createVirtualClock, type VirtualClock } from "./time/virtual-clock.ts";
import type { NumberedActivity } from "./world/world.ts";
import { createWorldHolder, type WorldHolder } from "./world/world-holder.ts";

export interface MockServer extends AsyncDisposable {
  /** Operations at `/graphql`, uploads at `/api/uploads`. */
  readonly baseUrl: string;
  /** Partner operations at `/graphql` below it. */
  readonly gatewayUrl: string;
  readonly inspectorUrl: string;
  /** An administrator's `read_write` key of the first workspace. */
  readonly apiKey: string;
  /** A key of the partner who created the first workspace. */
  readonly partnerApiKey: string;
  readonly workspaceId: string;
  /** Calls the service in this process, without a socket. Accepts paths such as `/graphql` too. */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>;
  readonly clock: MockClock;
  /** The control API, without HTTP. */
  readonly control: ControlApi;
  /** Calls `listener` with all activity from now on, also after a reset. Returns a function that stops it. */
  subscribe(listener: (activity: NumberedActivity) => void): () => void;
  /** Stops the mock; resolves when all its sockets are closed. Idempotent. */
  close(): Promise<void>;
}

// Clients have one rate limiter per key and URL in a process, and equal seeds yield equal keys: two mocks without a
// port must have different URLs.
let mocksWithoutPort = 0;

/**
 * Starts a mock of the whole service.
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
 * @throws MockServerError CONFIGURATION_INVALID for a wrong option; Error with code EADDRINUSE for a port in use
 */
export async function createMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  await checkMockOptions(options);
  const clock = clockOf(options.clock ?? "real");
  const settings = withSettings(options.settings);
  const worlds = createWorldHolder({
    seed: options.seed ?? 1,
    clock,
    settings,
    transport: transportOf(options, settings),
    seedWorld(world) {
      if (options.faults) world.faults.replace(options.faults);
      return seedWorld(world);
    },
  });
  const controls = createControls({ worlds, clock, version: packageVersion() });
  const stream = createLazyStream(worlds);
  const service: Service = {
    worlds,
    controls,
    stream: stream.open,
  };
  const handler = createHandler(service);
  const listener = await listenIfEnabled(options, service, handler).catch((error: unknown) => {
    worlds.end();
    throw error;
  });
  const origin = listener?.origin ?? `http://mock-${++mocksWithoutPort}.localhost`;

  const stop = async () => {
    stream.close();
    worlds.end();
    await listener?.close();
  };
  let stopping: Promise<void> | undefined;
  const close = () => {
    stopping ??= stop();
    return stopping;
  };

  return {
    baseUrl: origin,
    gatewayUrl: `${origin}/gateway`,
    inspectorUrl: `${origin}/_mock/`,
    get apiKey() {
      return worlds.seedData.apiKey;
    },
    get partnerApiKey() {
      return worlds.seedData.partnerApiKey;
    },
    get workspaceId() {
      return worlds.seedData.workspaceId;
    },
    fetch: (input, init) =>
      handler(new Request(input instanceof Request ? input : new URL(input, origin), init)),
    clock: createMockClock(clock),
    control: createControlApi(controls),
    subscribe: worlds.subscribe,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function clockOf(choice: NonNullable<MockServerOptions["clock"]>): Clock | VirtualClock {
  if (choice === "real") return createRealClock();
  return choice === "virtual" ? createVirtualClock() : choice;
}

function transportOf(
  { receivers, checkConnection, trustedCertificates }: MockServerOptions,
  { outbound }: Settings,
): Transport {
  const sockets = createHttpTransport({ limits: outbound, trustedCertificates });
  const transport = receivers ? createInProcessTransport(receivers, sockets) : sockets;
  return checkConnection ? { ...transport, checkConnection } : transport;
}

/** The event stream, created for its first reader. */
function createLazyStream(worlds: WorldHolder) {
  let opening: Promise<EventStream> | undefined;
  const open = async (): Promise<EventStream> => {
    const { createEventStream } = await import("./control/event-stream.ts");
    return createEventStream(worlds, createRealClock());
  };
  return {
    open() {
      opening ??= open();
      return opening;
    },
    close() {
      void opening?.then((stream) => stream.close());
    },
  };
}

async function listenIfEnabled(
  { listen = true, host = "127.0.0.1", port = 0, hostsAllowed = [], originsAllowed = [] }: MockServerOptions,
  service: Service,
  handler: (request: Request) => Promise<Response>,
): Promise<HttpListener | null> {
  return listen ? listenHttp({ service, handler, host, port, hostsAllowed, originsAllowed }) : null;
}

function packageVersion(): string {
  const manifest = createRequire(import.meta.url)("workspace-tasks/package.json") as { version: string };
  return manifest.version;
}
