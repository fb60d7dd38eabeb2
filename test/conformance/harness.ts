import { createServer, type IncomingHttpHeaders } from "node:http";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, test, vi } from "vitest";
import {
  type ControlApi,
  createControlClient,
  createMockServer,
  type MockServer,
  type MockServerOptions,
} from "workspace-tasks/mock-server";
import { listen } from "../support/listen.ts";

// What every conformance test stands on. The suite sees the service over HTTP only. By default it starts
// one mock per test file; with WORKSPACE_TASKS_TARGET it talks to a service that runs elsewhere:
//
//   WORKSPACE_TASKS_TARGET             base address, for example https://api.example.com
//   WORKSPACE_TASKS_GATEWAY            gateway address; default: `${WORKSPACE_TASKS_TARGET}/gateway`
//   WORKSPACE_TASKS_API_KEY            an administrator's read_write key
//   WORKSPACE_TASKS_READ_ONLY_API_KEY  an administrator's read_only key
//   WORKSPACE_TASKS_PARTNER_API_KEY    a partner's key
//
// What needs the mock's control API (time, keys, tasks on command) is written with `mockTest` and is
// reported as skipped there.

const target = process.env["WORKSPACE_TASKS_TARGET"];

/** True when the suite runs against its own mock, whose control API is at hand. */
export const onMock = target === undefined;

// Waiting for a real rate limit may take a window of 60 s, more than once.
if (!onMock) vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

/** A test that any implementation of the interface must pass. */
export { test } from "vitest";

/** A test that needs the mock's control API; skipped, and said so, against another target. */
export const mockTest: typeof test = onMock ? test : (test.skip as typeof test);

export type GraphqlError = {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string; readonly [name: string]: unknown };
};

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Loose = any;

export type Answer<Data = Loose> = {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Data;
  readonly errors: readonly GraphqlError[] | undefined;
  readonly text: string;
};

export type CallOptions = {
  /** Bearer token. Default: a cached `workspaceToken` of the default key; `null` sends none. */
  readonly token?: string | null;
  /** Default: `base`. */
  readonly router?: "base" | "gateway";
  readonly headers?: Readonly<Record<string, string>>;
};

export type Tokens = { readonly userToken: string; readonly workspaceToken: string };

type KeyOptions = NonNullable<Parameters<ControlApi["createApiKey"]>[0]>;
export type IssuedKey = Awaited<ReturnType<ControlApi["createApiKey"]>> & { readonly membershipId: string };

export interface Harness {
  readonly baseUrl: string;
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly partnerApiKey: string;
  readonly workspaceId: string;
  /** The mock itself, for what HTTP cannot show. Throws against another target. */
  readonly mock: MockServer;
  /** Sends one GraphQL request; never throws for an answer, whatever its status. */
  graphql<Data = Loose>(
    query: string,
    variables?: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<Answer<Data>>;
  /** Exchanges a key (default: the administrator's) and fails the test when that fails. */
  tokens(apiKey?: string, expiresInSeconds?: number): Promise<Tokens>;
  /** A gateway token for a partner key (default: the first). */
  partnerToken(partnerApiKey?: string): Promise<string>;
  /** The control API over HTTP. */
  readonly control: ControlApi;
  /** Creates an API key through the control API: its own user, its own rate limit. */
  key(options?: KeyOptions): Promise<IssuedKey>;
  /** A new workspace (made by a partner of its own) with an administrator's key. */
  workspace(displayName?: string): Promise<IssuedKey & { readonly partnerApiKey: string }>;
  /** Moves virtual time, for example `"3m"`; resolves when everything due on the way has settled. */
  advance(by: string | number): Promise<void>;
}

/**
 * Starts (or points at) the service for the tests of this file and closes it after them.
 * @param options of the mock; the clock is virtual unless said otherwise
 */
export function useService(options: MockServerOptions = {}): Harness {
  let mock: MockServer | undefined;
  let cachedToken: { token: string; untilMs: number } | undefined;

  beforeAll(async () => {
    if (onMock) mock = await createMockServer({ port: 0, clock: "virtual", seed: 1, ...options });
  });
  afterAll(async () => {
    await mock?.close();
  });

  const started = () => {
    if (!mock) throw new Error("this needs the mock: run the suite without WORKSPACE_TASKS_TARGET");
    return mock;
  };

  const harness: Harness = {
    get baseUrl() {
      return target ?? started().baseUrl;
    },
    get gatewayUrl() {
      return onMock ? started().gatewayUrl : (process.env["WORKSPACE_TASKS_GATEWAY"] ?? `${target}/gateway`);
    },
    get apiKey() {
      return onMock ? started().apiKey : fromEnvironment("WORKSPACE_TASKS_API_KEY");
    },
    get partnerApiKey() {
      return onMock ? started().partnerApiKey : fromEnvironment("WORKSPACE_TASKS_PARTNER_API_KEY");
    },
    get workspaceId() {
      return started().workspaceId;
    },
    get mock() {
      return started();
    },
    async graphql(query, variables, { token, router = "base", headers } = {}) {
      const bearer = token === undefined ? await defaultToken() : token;
      const response = await fetchInTurn(
        `${router === "base" ? harness.baseUrl : harness.gatewayUrl}/graphql`,
        {
          method: "POST",
          headers: {
            "content-type": "application/json",
            ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
            ...headers,
          },
          body: JSON.stringify({ query, ...(variables ? { variables } : {}) }),
        },
      );
      return readAnswer(response);
    },
    async tokens(apiKey = harness.apiKey, expiresInSeconds) {
      const answer = await harness.graphql(exchangeDocument, { apiKey, expiresInSeconds }, { token: null });
      if (answer.errors) throw new Error(`exchange failed: ${answer.text}`);
      return answer.data.exchangeSurfaceRefreshTokenForAccessTokens as Tokens;
    },
    async partnerToken(partnerApiKey = harness.partnerApiKey) {
      const answer = await harness.graphql(
        "mutation ($token: String!) { loginViaPersonalApiToken(token: $token) { accessToken } }",
        { token: partnerApiKey },
        { token: null, router: "gateway" },
      );
      if (answer.errors) throw new Error(`partner login failed: ${answer.text}`);
      return answer.data.loginViaPersonalApiToken.accessToken as string;
    },
    get control() {
      return createControlClient({ baseUrl: started().baseUrl });
    },
    key: async (keyOptions) => (await harness.control.createApiKey(keyOptions)) as IssuedKey,
    async workspace(displayName = "Another Firm") {
      const { partnerApiKey } = await harness.control.createPartnerKey();
      const token = await harness.partnerToken(partnerApiKey);
      const created = await harness.graphql(
        "mutation ($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { id } }",
        { input: { displayName } },
        { token, router: "gateway" },
      );
      const key = await harness.key({ workspaceId: created.data.createWorkspace.id, role: "admin" });
      return { ...key, partnerApiKey };
    },
    async advance(by) {
      await harness.control.advanceClock({ by });
    },
  };

  const defaultToken = async () => {
    const nowMs = onMock ? started().clock.now() : Date.now();
    if (!cachedToken || cachedToken.untilMs <= nowMs) {
      const { workspaceToken } = await harness.tokens();
      cachedToken = { token: workspaceToken, untilMs: nowMs + 120_000 };
    }
    return cachedToken.token;
  };

  return harness;
}

/**
 * Another target has its real rate limit, which these tests exceed: what it refuses is sent again when it
 * says so. The tests of the limit itself run on the mock only.
 */
async function fetchInTurn(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (onMock || response.status !== 429) return response;
  await setTimeout(Number(response.headers.get("retry-after")) * 1_000);
  return fetchInTurn(url, init);
}

export const exchangeDocument = `mutation ($apiKey: String!, $expiresInSeconds: Int) {
  exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $apiKey, expiresInSeconds: $expiresInSeconds) {
    userToken workspaceToken
  }
}`;

async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const json = response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : {};
  return {
    status: response.status,
    headers: response.headers,
    data: json.data,
    errors: json.errors,
    text,
  };
}

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name} to run the suite against ${target}`);
  return value;
}

export type CapturedDelivery = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes that came. */
  readonly body: Buffer;
  /** The bytes read as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  readonly event: any;
};

/** What a receiver answers: a status, or a status with headers and a body, or nothing at all. */
export type ReceiverAnswer =
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | "hang"
  | "reset";

export interface CapturingReceiver extends AsyncDisposable {
  readonly url: string;
  /** Everything that came, in order of arrival. */
  readonly deliveries: readonly CapturedDelivery[];
  /** Changes the answer to later deliveries; a function sees the delivery. Default: 204. */
  answer(answer: ReceiverAnswer | ((delivery: CapturedDelivery) => ReceiverAnswer)): void;
  /** Resolves with the first `count` deliveries once that many have come. */
  received(count: number): Promise<readonly CapturedDelivery[]>;
  close(): Promise<void>;
}

/** A real HTTP server on a free loopback port that keeps every delivery as it came. */
export async function startReceiver(): Promise<CapturingReceiver> {
  const deliveries: CapturedDelivery[] = [];
  const waiting = new Set<() => void>();
  let decide: (delivery: CapturedDelivery) => ReceiverAnswer = () => 204;

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const delivery: CapturedDelivery = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body,
      get event() {
        return JSON.parse(body.toString("utf8"));
      },
    };
    deliveries.push(delivery);
    for (const wake of [...waiting]) wake();
    const answer = decide(delivery);
    if (answer === "hang") return;
    if (answer === "reset") {
      request.socket.resetAndDestroy();
      return;
    }
    const {
      status,
      headers = {},
      body: text = "",
    } = typeof answer === "number" ? { status: answer } : answer;
    response.writeHead(status, headers).end(text);
  });
  const listening = await listen(server);
  const close = async () => listening[Symbol.asyncDispose]();

  return {
    url: `${listening.origin}/webhooks`,
    deliveries,
    answer(answer) {
      decide = typeof answer === "function" ? answer : () => answer;
    },
    received: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (deliveries.length < count) return;
          waiting.delete(check);
          resolve(deliveries.slice(0, count));
        };
        waiting.add(check);
        check();
      }),
    close,
    [Symbol.asyncDispose]: close,
  };
}
