import { createServer, type RequestListener } from "node:http";
import { createVirtualClock, type VirtualClock } from "@workspace-tasks/mock-server";
import { CallScope } from "../../sdk/call/call-scope.ts";
import { FailureError, failure, toError } from "../../sdk/call/failure.ts";
import type { Operation } from "../../sdk/call/operation.ts";
import {
  type Call,
  type CallMeta,
  createEngine,
  createSend,
  type Engine,
  toCall,
  type WorkspaceToken,
} from "../../sdk/engine/engine.ts";
import {
  type CallOptions,
  type CreateClientOptions,
  type ResolvedOptions,
  resolveOptions,
} from "../../sdk/options.ts";
import type { RateLimitSnapshot } from "../../sdk/rate-limit/rate-limiter.ts";
import {
  busiest,
  createFakeService,
  type FakeService,
  type FakeServiceOptions,
  type Legs,
  seeded,
  withLatency,
} from "./fake-service.ts";
import { type ListeningServer, listen } from "./listen.ts";

/** An engine as a test uses it: calls are promises of plain data, and tokens need no scope. */
export interface TestEngine extends Pick<Engine, "rateLimitSnapshot" | "close"> {
  execute<Data, Variables>(
    operation: Operation<Data, Variables>,
    variables: Variables,
    options?: CallOptions,
  ): Call<Data>;
  workspaceToken(): Promise<WorkspaceToken>;
}

export function createTestEngine(options: CreateClientOptions): TestEngine {
  // Bursts of tests take many windows.
  const engine = createEngine(resolveOptions({ deadlineMs: 86_400_000, ...options }));
  return {
    ...engine,
    execute: (operation, variables, call) => toCall(engine.execute(operation, variables, call)),
    async workspaceToken() {
      const scope = engine.openScope();
      try {
        return await engine.workspaceToken(scope);
      } catch (error) {
        throw error instanceof FailureError ? toError(error.failure, { attempts: 0 }) : error;
      } finally {
        scope.dispose();
      }
    },
  };
}

/** A client of this service. */
export function openEngine(
  { apiKey, baseUrl, clock, fetch }: FakeService,
  options: Partial<CreateClientOptions> = {},
): TestEngine {
  return createTestEngine({ apiKey, baseUrl, clock, fetch, ...options });
}

/** An engine in front of a service, with latency between them and one virtual clock for all three. */
export interface EngineFixture {
  readonly service: FakeService;
  readonly engine: TestEngine;
}

export interface EngineFixtureOptions extends FakeServiceOptions {
  readonly legs?: () => Legs;
  readonly client?: Partial<CreateClientOptions>;
}

export function createEngineFixture(options: EngineFixtureOptions = {}): EngineFixture {
  const service = createFakeService(options);
  const legs = options.legs ?? constantLegs(100);
  const fetch = withLatency(service.fetch, service.clock, legs);
  const engine = openEngine(service, { fetch, random: seeded(1), ...options.client });
  return { service, engine };
}

export function constantLegs(latencyMs: number): () => Legs {
  return () => ({ forwardMs: latencyMs / 2, backwardMs: latencyMs / 2 });
}

/** Each leg varies on its own by up to `jitter` of its length. */
export function jitteryLegs(latencyMs: number, jitter: number, random: () => number): () => Legs {
  const leg = () => (latencyMs / 2) * (1 - jitter + 2 * jitter * random());
  return () => ({ forwardMs: leg(), backwardMs: leg() });
}

/** The most requests in any span of one window. */
export const busiestWindow = (acceptedAtMs: readonly number[], windowMs = 60_000): number =>
  busiest(acceptedAtMs, { windowMs, window: "sliding", windowOffsetMs: 0 });

export interface FakeEngineOptions {
  /** The data of a response, by operation name. */
  respond?(name: string, variables: unknown, call: CallOptions): unknown;
  readonly rateLimit?: RateLimitSnapshot;
}

export interface FakeEngine extends Engine {
  readonly clock: VirtualClock;
  /** Every execution, in order. */
  readonly sent: { readonly name: string; readonly variables: unknown; readonly atMs: number }[];
  readonly tokens: { issued: number; invalidated: string[] };
}

export const fakeMeta: CallMeta = {
  attempts: 1,
  queuedMs: 0,
  httpStatus: 200,
  requestId: undefined,
  headers: {},
  extensions: undefined,
};

/** An engine without a policy: every operation is recorded and gets its response at once. */
export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const clock = createVirtualClock();
  const clientScope = new CallScope(clock);
  const sent: FakeEngine["sent"] = [];
  const tokens: FakeEngine["tokens"] = { issued: 1, invalidated: [] };
  const execute: Engine["execute"] = async (operation, variables, call = {}) => {
    const name = operation.name ?? "";
    sent.push({ name, variables, atMs: clock.monotonic() });
    const data = (await options.respond?.(name, variables, call)) as never;
    return { data, meta: () => fakeMeta };
  };
  return {
    clock,
    sent,
    tokens,
    execute,
    send: createSend(execute),
    openScope: (limits) => clientScope.child(limits),
    async workspaceToken() {
      const token = `token-${tokens.issued}`;
      return {
        token,
        replace() {
          tokens.invalidated.push(token);
          tokens.issued += 1;
          return true;
        },
      };
    },
    rateLimitSnapshot: () => options.rateLimit,
    async close() {
      clientScope.end(failure("CLIENT_CLOSED", "the client was closed"));
    },
  };
}

/** The options of a client without a network. */
export const clientOptionsOf = ({ clock }: FakeEngine): ResolvedOptions =>
  resolveOptions({
    baseUrl: "https://service.test/",
    fetch: () => Promise.reject(new TypeError("no network here")),
    clock,
    random: () => 0.5,
  });

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

/** Two operations for tests of the engine. */
export const probe = {
  query: operation("ProbeQuery", "query", "query ProbeQuery { __typename }"),
  mutation: operation(
    "ProbeMutation",
    "mutation",
    "mutation ProbeMutation($ref: String) { probe(ref: $ref) }",
  ),
} as const;

function operation(
  name: string,
  kind: "query" | "mutation",
  document: string,
): Operation<Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>> {
  return { name, kind, document, method: "probe", router: "base", authenticated: true };
}
