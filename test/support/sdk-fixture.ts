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
