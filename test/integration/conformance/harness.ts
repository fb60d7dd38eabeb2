import {
  type ControlApi,
  createControlClient,
  createMockServer,
  type MockServer,
  type MockServerOptions,
} from "@workspace-tasks/mock-server";
import { afterAll, beforeAll } from "vitest";
import { jsonPost } from "../../support/json-post.ts";

// The mock that the tests of a file start, seen over HTTP.

type GraphqlError = {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string; readonly [name: string]: unknown };
};

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
export type Loose = any;

export type GraphqlResponse<Data = Loose> = {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Data;
  readonly errors: readonly GraphqlError[] | undefined;
  /** Message and code of the first error. */
  readonly message: string | undefined;
  readonly code: string | undefined;
  readonly text: string;
};

export type CallOptions = {
  /** Bearer token. Default: a cached `workspaceToken` of the default key; `null` sends none. */
  readonly token?: string | null;
  /** Default: `base`. */
  readonly router?: "base" | "gateway";
  readonly headers?: Readonly<Record<string, string>>;
};

type Tokens = { readonly userToken: string; readonly workspaceToken: string };

type KeyOptions = NonNullable<Parameters<ControlApi["createApiKey"]>[0]>;
type IssuedKey = Awaited<ReturnType<ControlApi["createApiKey"]>> & { readonly membershipId: string };

export interface Harness {
  readonly baseUrl: string;
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly partnerApiKey: string;
  readonly workspaceId: string;
  /** For state that HTTP does not show. */
  readonly mock: MockServer;
  /** Sends a GraphQL request; does not throw for any status. */
  graphql<Data = Loose>(
    query: string,
    variables?: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<GraphqlResponse<Data>>;
  /** Exchanges a key (default: the administrator's) and fails the test when that fails. */
  tokens(apiKey?: string, expiresInSeconds?: number): Promise<Tokens>;
  /** A gateway token for a partner key (default: the first). */
  partnerToken(partnerApiKey?: string): Promise<string>;
  /** The control API over HTTP. */
  readonly control: ControlApi;
  /** Creates an API key of a new user through the control API. */
  key(options?: KeyOptions): Promise<IssuedKey>;
  /** Creates a workspace of a new partner, with an administrator's key. */
  workspace(): Promise<IssuedKey>;
  /** The same, as the options of its administrator's calls. */
  ownWorkspace(): Promise<CallOptions>;
  /** Advances virtual time, for example by `"3m"`; resolves when all work due until then has settled. */
  advance(by: string | number): Promise<void>;
}

/**
 * Starts the mock for the tests of this file and closes it after them.
 * @param options of the mock; the clock is virtual by default
 */
export function useService(options: MockServerOptions = {}): Harness {
  let mock: MockServer | undefined;
  let cachedToken: { token: string; untilMs: number } | undefined;

  beforeAll(async () => {
    mock = await createMockServer({ port: 0, clock: "virtual", seed: 1, ...options });
  });
  afterAll(async () => {
    await mock?.close();
  });

  const started = () => {
    if (!mock) throw new Error("the mock starts before the first test");
    return mock;
  };

  const harness: Harness = {
    get baseUrl() {
      return started().baseUrl;
    },
    get gatewayUrl() {
      return started().gatewayUrl;
    },
    get apiKey() {
      return started().apiKey;
    },
    get partnerApiKey() {
      return started().partnerApiKey;
    },
    get workspaceId() {
      return started().workspaceId;
    },
    get mock() {
      return started();
    },
    async graphql(query, variables, { token, router = "base", headers } = {}) {
      const bearer = token === undefined ? await defaultToken() : token;
      const url = `${router === "base" ? harness.baseUrl : harness.gatewayUrl}/graphql`;
      const post = jsonPost({ query, ...(variables ? { variables } : {}) }, bearer ?? undefined);
      const sent = { ...post, headers: { ...post.headers, ...headers } };
      return readResponse(await fetch(url, sent));
    },
    async tokens(apiKey = harness.apiKey, expiresInSeconds) {
      const response = await harness.graphql(exchangeDocument, { apiKey, expiresInSeconds }, { token: null });
      if (response.errors) throw new Error(`exchange failed: ${response.text}`);
      return response.data.exchangeSurfaceRefreshTokenForAccessTokens as Tokens;
    },
    async partnerToken(partnerApiKey = harness.partnerApiKey) {
      const response = await harness.graphql(
        "mutation ($token: String!) { loginViaPersonalApiToken(token: $token) { accessToken } }",
        { token: partnerApiKey },
        { token: null, router: "gateway" },
      );
      if (response.errors) throw new Error(`partner login failed: ${response.text}`);
      return response.data.loginViaPersonalApiToken.accessToken as string;
    },
    get control() {
      return createControlClient({ baseUrl: started().baseUrl });
    },
    key: async (keyOptions) => (await harness.control.createApiKey(keyOptions)) as IssuedKey,
    async workspace() {
      const { partnerApiKey } = await harness.control.createPartnerKey();
      const token = await harness.partnerToken(partnerApiKey);
      const created = await harness.graphql(
        "mutation ($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { id } }",
        { input: { displayName: "Another Firm" } },
        { token, router: "gateway" },
      );
      return harness.key({ workspaceId: created.data.createWorkspace.id, role: "admin" });
    },
    async ownWorkspace() {
      const { apiKey } = await harness.workspace();
      return { token: (await harness.tokens(apiKey)).workspaceToken };
    },
    async advance(by) {
      await harness.control.advanceClock({ by });
    },
  };

  const defaultToken = async () => {
    const nowMs = started().clock.now();
    if (!cachedToken || cachedToken.untilMs <= nowMs) {
      const { workspaceToken } = await harness.tokens();
      cachedToken = { token: workspaceToken, untilMs: nowMs + 120_000 };
    }
    return cachedToken.token;
  };

  return harness;
}

export const exchangeDocument = `mutation ($apiKey: String!, $expiresInSeconds: Int) {
  exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $apiKey, expiresInSeconds: $expiresInSeconds) {
    userToken workspaceToken
  }
}`;

async function readResponse(response: Response): Promise<GraphqlResponse> {
  const text = await response.text();
  const json = response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : {};
  return {
    status: response.status,
    headers: response.headers,
    data: json.data,
    errors: json.errors,
    message: json.errors?.[0]?.message,
    code: json.errors?.[0]?.extensions?.code,
    text,
  };
}
