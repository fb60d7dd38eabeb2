import { createServer, type RequestListener } from "node:http";
import type { CreateClientOptions } from "../../sdk/options.ts";
import { createTestEngine, type TestEngine } from "./engine-fixture.ts";
import { type ListeningServer, listen } from "./listen.ts";

/** A real server: token exchanges succeed, `respond` handles all other requests. */
export interface GraphQLServer {
  readonly baseUrl: string;
  /** The bodies of the requests that `respond` got. */
  readonly requests: readonly string[];
  /** An engine that repeats nothing. */
  open(options?: Partial<CreateClientOptions>): TestEngine;
  close(): Promise<void>;
}

const servers: ListeningServer[] = [];

export async function serveGraphQL(respond: RequestListener): Promise<GraphQLServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      if (body.includes("ExchangeApiKey")) {
        response.setHeader("content-type", "application/json");
        const tokens = { userToken: "user", workspaceToken: "opaque-token" };
        response.end(JSON.stringify({ data: { exchangeSurfaceRefreshTokenForAccessTokens: tokens } }));
        return;
      }
      requests.push(body);
      respond(request, response);
    });
  });
  const listening = await listen(server);
  servers.push(listening);
  const baseUrl = listening.origin;
  return {
    baseUrl,
    requests,
    open: (options = {}) => openAt(baseUrl, options),
    close: async () => listening[Symbol.asyncDispose](),
  };
}

/** For `afterEach`. */
export async function closeServers(): Promise<void> {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
}

/** Responds with this status, body and headers. */
export function responding(
  status: number,
  body: string,
  headers: Record<string, string> = {},
): RequestListener {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body);
  };
}

function openAt(baseUrl: string, options: Partial<CreateClientOptions>): TestEngine {
  return createTestEngine({ apiKey: "key_1234567890", baseUrl, maxRetries: 0, ...options });
}
