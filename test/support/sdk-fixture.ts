import { createMockServer, type MockServer, type MockServerOptions } from "@workspace-tasks/mock-server";
import { type CreateClientOptions, createClient, type WorkspaceTasksClient } from "@workspace-tasks/sdk";

/** `http`: real sockets and real time. `in-process`: `mock.fetch` and the mock's virtual clock. */
export type Transport = "http" | "in-process";
export const transports: readonly Transport[] = ["http", "in-process"];

export interface SdkFixture extends AsyncDisposable {
  readonly mock: MockServer;
  readonly client: WorkspaceTasksClient;
  /** Another client of the same mock, closed with the fixture. */
  createClient(options?: Partial<CreateClientOptions>): WorkspaceTasksClient;
  /** Advances the virtual clock until the promise settles; with a real clock only waits. */
  advanceUntilSettled<Value>(promise: Promise<Value>): Promise<Value>;
  /** Number of requests with this top-level field that reached the service. */
  requests(operation: string): Promise<number>;
}

export interface SdkFixtureOptions {
  readonly mock?: MockServerOptions;
  readonly client?: Partial<CreateClientOptions>;
}

/** A mock and a client; disposing closes both. */
export async function createSdkFixture(
  transport: Transport,
  options: SdkFixtureOptions = {},
): Promise<SdkFixture> {
  const inProcess = transport === "in-process";
  const mock = await createMockServer({
    ...(inProcess ? { listen: false, clock: "virtual" as const } : {}),
    ...options.mock,
  });
  const clients: WorkspaceTasksClient[] = [];

  function newClient(overrides: Partial<CreateClientOptions> = {}): WorkspaceTasksClient {
    const client = createClient({
      apiKey: mock.apiKey,
      baseUrl: mock.baseUrl,
      gatewayUrl: mock.gatewayUrl,
      partnerApiKey: mock.partnerApiKey,
      ...(inProcess ? { fetch: mock.fetch, clock: mock.clock } : {}),
      ...options.client,
      ...overrides,
    });
    clients.push(client);
    return client;
  }

  return {
    mock,
    client: newClient(),
    createClient: newClient,
    advanceUntilSettled: (promise) =>
      mock.clock.mode === "virtual" ? advanceUntilSettled(mock.clock, promise) : promise,
    requests: async (operation) =>
      (await mock.control.listRequests({ limit: 1_000 })).data.filter(({ operations }) =>
        operations.includes(operation),
      ).length,
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await mock.close();
    },
  };
}

/** Advances a virtual clock by seconds until the promise settles; fails when it takes more than `secondsMax`. */
export async function advanceUntilSettled<Value>(
  clock: { advance(byMs: number): Promise<unknown> },
  promise: Promise<Value>,
  secondsMax = 100_000,
): Promise<Value> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  for (let seconds = 0; !settled; seconds += 1) {
    if (seconds > secondsMax) throw new Error(`the promise did not settle within ${secondsMax} s`);
    await clock.advance(1_000);
  }
  return promise;
}
