import { type CreateClientOptions, createClient, type WorkspaceTasksClient } from "@workspace-tasks/sdk";

/** A request as it reached the service. */
export interface ReceivedRequest {
  readonly operation: string;
  readonly headers: Headers;
  readonly url: string;
  readonly init: RequestInit;
  /** Of a GraphQL request. */
  readonly variables: unknown;
}

export interface ScriptedService {
  readonly client: WorkspaceTasksClient;
  /** All requests but token exchanges. */
  readonly calls: readonly ReceivedRequest[];
  readonly exchanges: readonly ReceivedRequest[];
}

// Clients of one key and address share their rate limit.
let services = 0;

/** A client of a service that responds to its calls in turn, the last response again and again. */
export function createScriptedService(
  responses: readonly ((request: ReceivedRequest) => Response | Promise<Response>)[],
  options: Partial<CreateClientOptions> = {},
): ScriptedService {
  const calls: ReceivedRequest[] = [];
  const exchanges: ReceivedRequest[] = [];
  const fetch = async (input: URL | string, init: RequestInit = {}): Promise<Response> => {
    const { operationName = "", variables } =
      typeof init.body === "string"
        ? (JSON.parse(init.body) as { operationName?: string; variables?: unknown })
        : {};
    const [headers, url] = [new Headers(init.headers), String(input)];
    const request = { operation: operationName, variables, headers, url, init };
    if (operationName === "ExchangeApiKey") {
      exchanges.push(request);
      const tokens = { userToken: "user-token-1", workspaceToken: "workspace-token-1" };
      return Response.json({ data: { exchangeSurfaceRefreshTokenForAccessTokens: tokens } });
    }
    calls.push(request);
    const respond = responses[Math.min(calls.length, responses.length) - 1];
    if (!respond) throw new TypeError("expected a response");
    return respond(request);
  };
  const baseUrl = "https://service.example";
  const apiKey = `key_${++services}_8f3a9d2c71`;
  const client = createClient({ baseUrl, apiKey, fetch, random: () => 0, ...options });
  return { client, calls, exchanges };
}
