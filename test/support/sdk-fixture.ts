import { createMockServer, type MockServer, type MockServerOptions } from "workspace-tasks/mock-server";
import { type CreateClientOptions, createClient, type WorkspaceTasksClient } from "workspace-tasks/sdk";

/** `http`: real sockets and real time. `in process`: `mock.fetch` and the mock's virtual clock. */
export type Road = "http" | "in process";
export const roads: readonly Road[] = ["http", "in process"];

export interface SdkFixture extends AsyncDisposable {
  readonly mock: MockServer;
  readonly client: WorkspaceTasksClient;
  /** Another client of the same mock, closed with the scene. */
  createClient(options?: Partial<CreateClientOptions>): WorkspaceTasksClient;
  /** Lets virtual time pass until the promise has settled; on a real clock just waits for it. */
  inTime<Value>(promise: Promise<Value>): Promise<Value>;
  /** Requests with this top-level field that reached the service. */
  requests(operation: string): number;
}

export interface SdkFixtureOptions {
  readonly mock?: MockServerOptions;
  readonly client?: Partial<CreateClientOptions>;
}

/** A mock and a client of it; both end with the scene. */
export async function createSdkFixture(road: Road, options: SdkFixtureOptions = {}): Promise<SdkFixture> {
  const inProcess = road === "in process";
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
    inTime: (promise) => (mock.clock.mode === "virtual" ? passTime(mock, promise) : promise),
    requests: (operation) =>
      mock.admin.requests({ limit: 1_000 }).data.filter(({ operations }) => operations.includes(operation))
        .length,
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await mock.close();
    },
  };
}

async function passTime<Value>(mock: MockServer, promise: Promise<Value>): Promise<Value> {
  let settled = false;
  const done = () => {
    settled = true;
  };
  promise.then(done, done);
  for (let seconds = 0; !settled; seconds += 1) {
    if (seconds > 100_000) throw new Error("nothing happened in 100,000 s");
    await mock.clock.advance(1_000);
  }
  return promise;
}
