import {
  type ControlApi,
  createControlClient,
  createMockServer,
  type MockServer,
  type MockServerOptions,
} from "@workspace-tasks/mock-server";
import { afterAll, beforeAll } from "vitest";
import { jsonPost } from "../../support/mock-client.ts";

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

export type Harness = ReturnType<typeof useService>;

/**
 * Starts the mock for the tests of this file and closes it after them.
 * @param options of the mock; the clock is virtual by default
 */
export function useService(options: MockServerOptions = {}) {
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
  /** The control API over HTTP. */
  const control = () => createControlClient({ baseUrl: started().baseUrl });

  async function defaultToken(): Promise<string> {
    const nowMs = started().clock.now();
    if (!cachedToken || cachedToken.untilMs <= nowMs) {
      const { workspaceToken } = await tokens();
      cachedToken = { token: workspaceToken, untilMs: nowMs + 120_000 };
    }
    return cachedToken.token;
  }

  /** Sends a GraphQL request; does not throw for any status. */
  async function graphql(
    query: string,
    variables?: Record<string, unknown>,
    { token, router = "base", headers }: CallOptions = {},
  ): Promise<GraphqlResponse> {
    const bearer = token === undefined ? await defaultToken() : token;
    const { baseUrl, gatewayUrl } = started();
    const post = jsonPost({ query, ...(variables ? { variables } : {}) }, bearer ?? undefined);
    const sent = { ...post, headers: { ...post.headers, ...headers } };
    return readResponse(await fetch(`${router === "base" ? baseUrl : gatewayUrl}/graphql`, sent));
  }

  /** Exchanges a key (default: the administrator's) and fails the test when that fails. */
  async function tokens(apiKey = started().apiKey, expiresInSeconds?: number): Promise<Tokens> {
    const response = await graphql(exchangeDocument, { apiKey, expiresInSeconds }, { token: null });
    if (response.errors) throw new Error(`exchange failed: ${response.text}`);
    return response.data.exchangeSurfaceRefreshTokenForAccessTokens as Tokens;
  }

  /** A gateway token for a partner key (default: the first). */
  async function partnerToken(partnerApiKey = started().partnerApiKey): Promise<string> {
    const response = await graphql(
      "mutation ($token: String!) { loginViaPersonalApiToken(token: $token) { accessToken } }",
      { token: partnerApiKey },
      { token: null, router: "gateway" },
    );
    if (response.errors) throw new Error(`partner login failed: ${response.text}`);
    return response.data.loginViaPersonalApiToken.accessToken as string;
  }

  /** Creates an API key of a new user through the control API. */
  const key = async (keyOptions?: KeyOptions) => (await control().createApiKey(keyOptions)) as IssuedKey;

  /** Creates a workspace of a new partner, with an administrator's key. */
  async function workspace(): Promise<IssuedKey> {
    const { partnerApiKey } = await control().createPartnerKey();
    const created = await graphql(
      "mutation ($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { id } }",
      { input: { displayName: "Another Firm" } },
      { token: await partnerToken(partnerApiKey), router: "gateway" },
    );
    return key({ workspaceId: created.data.createWorkspace.id, role: "admin" });
  }

  return {
    graphql,
    tokens,
    partnerToken,
    key,
    workspace,
    get baseUrl() {
      return started().baseUrl;
    },
    get gatewayUrl() {
      return started().gatewayUrl;
    },
    get apiKey() {
      return started().apiKey;
    },
    /** For state that HTTP does not show. */
    get mock() {
      return started();
    },
    get control() {
      return control();
    },
    /** The same as `workspace`, as the options of its administrator's calls. */
    async ownWorkspace(): Promise<CallOptions> {
      const { apiKey } = await workspace();
      return { token: (await tokens(apiKey)).workspaceToken };
    },
    /** Advances virtual time, for example by `"3m"`; resolves when all work due until then has settled. */
    async advance(by: string | number): Promise<void> {
      await control().advanceClock({ by });
    },
  };
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
