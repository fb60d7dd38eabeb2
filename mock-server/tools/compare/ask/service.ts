// What a rule asks a service through: requests with the tokens of the keys.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import type { VirtualClock } from "@workspace-tasks/mock-server";
import { operationDocuments, type Router } from "@workspace-tasks/mock-server/parts";
import type { Captured } from "./deliveries.ts";
import { type Received, SendError, Sender, type SenderOptions, Untestable } from "./send.ts";

/** Environment variables of the keys; which ones there are decides which rules are testable. */
export const keyVariables = {
  admin: "WORKSPACE_TASKS_API_KEY",
  readOnly: "WORKSPACE_TASKS_READ_ONLY_API_KEY",
  revoked: "WORKSPACE_TASKS_REVOKED_API_KEY",
  expired: "WORKSPACE_TASKS_EXPIRED_API_KEY",
  partner: "WORKSPACE_TASKS_PARTNER_API_KEY",
} as const;

export type KeyName = keyof typeof keyVariables;
export const keyNames = Object.keys(keyVariables) as readonly KeyName[];

/** How to reach a service. The keys stay in memory. */
export interface Access {
  readonly baseUrl: string;
  readonly gatewayUrl: string | null;
  readonly keys: Readonly<Partial<Record<KeyName, string>>>;
}

/** `reader` is a workspaceToken of the administrator's key, or of the read-only key without one. */
export type TokenName = "reader" | "admin" | "readOnly" | "user" | "partner" | "none" | "invalid";

export interface ServiceOptions extends SenderOptions {
  readonly access: Access;
  /** Without it no rule is asked that creates, changes or validates something. */
  readonly writes: boolean;
  /** Letters and digits in the URLs of what the run creates. */
  readonly runId: string;
  readonly captured?: Captured | undefined;
}

/** A webhook endpoint that a run has created. */
export interface CreatedEndpoint {
  readonly url: string;
  /** `null` when the response that says it was lost. */
  id: string | null;
  /** Without it the endpoint may not exist: a response was lost, or its deletion was asked for. */
  isCertain: boolean;
}

type Variables = Readonly<Record<string, unknown>>;

export interface ServiceResponse {
  readonly status: number;
  readonly body: Received["body"];
  /** `undefined` for a body without data. */
  readonly data: Readonly<Record<string, unknown>> | null | undefined;
  readonly errors: readonly ServiceError[];
  readonly contentType: string;
  /** What was asked, for rules over all responses. */
  readonly document: string;
  readonly variables: Variables;
}

export interface ServiceError {
  readonly message: string;
  readonly code: string | null;
  readonly path: unknown;
  /** Its whole JSON. */
  readonly text: string;
}

export interface AskOptions {
  /** Default: `reader`; the administrator's for a mutation of the SDK. */
  readonly token?: TokenName | { readonly bearer: string };
  readonly router?: Router;
  readonly operationName?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A query is asked once in a run; with this, once more. */
  readonly isNew?: boolean;
}

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly router?: Router;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export type OperationName = keyof typeof operationDocuments;

/** A token is not used in its last seconds, so that a slow request does not arrive with an expired one. */
const tokenMarginMs = 40_000;

/** A wrong token of the right form: its payload says that it is of the year 2001. */
const invalidToken =
  "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjEwMDAwMDAwMDB9.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/** A key of no form that a service issues. */
const wrongKey = "workspace-tasks-compare-wrong-key";
/** A UUID of version 7 that no service issues: its time is that of the year 1970. */
export const unknownId = "00000000-0000-7000-8000-00000000c0de";

/** With both tokens; the SDK uses the workspace's only. */
export const exchangeText = `mutation ExchangeApiKey($refreshToken: String!, $expiresInSeconds: Int) {
  exchangeSurfaceRefreshTokenForAccessTokens(
    refreshToken: $refreshToken
    expiresInSeconds: $expiresInSeconds
  ) {
    userToken
    workspaceToken
  }
}`;

const graphqlPost = { method: "POST", path: "/graphql", contentType: "application/json" } as const;

interface Tokens {
  readonly workspaceToken: string;
  readonly userToken: string;
  readonly usableUntilTicks: number;
}

/** One run over a service. */
export class Service {
  readonly access: Access;
  readonly writes: boolean;
  readonly clock: Clock | VirtualClock;
  readonly captured: Captured | undefined;
  readonly sender: Sender;
  /** Every response of the run. */
  readonly responses: ServiceResponse[] = [];
  /** What was sent since it was emptied, without keys and ids. */
  sent: string[] = [];
  /** What the run has created, and is not known to be removed. */
  readonly created = new Set<CreatedEndpoint>();
  readonly #runId: string;
  readonly #memory = new Map<string, Promise<unknown>>();
  readonly #tokens = new Map<KeyName, Tokens>();
  readonly #urls = new Map<string, string>();

  constructor(options: ServiceOptions) {
    this.access = options.access;
    this.writes = options.writes;
    this.clock = options.clock;
    this.captured = options.captured;
    this.sender = new Sender(options);
    this.#runId = options.runId;
  }

  /** Sends a GraphQL document. @throws Untestable when the run has not what it takes; SendError without a response */
  async graphql(
    document: string,
    variables: Variables = {},
    options: AskOptions = {},
  ): Promise<ServiceResponse> {
    const { token = "reader", router = "base", operationName, headers, isNew = false } = options;
    this.sent.push(this.#describe(document, variables, options));
    const isMutation = document.startsWith("mutation");
    const ask = async () => {
      const body = JSON.stringify({ query: document, variables, operationName });
      const request = { ...graphqlPost, body, router, headers };
      const { response, isRepeated } = await this.#send(request, token, document, variables);
      if (isRepeated && isMutation && !isLogin(document))
        throw new Untestable("a response was lost, and a repeated mutation shows nothing");
      return response;
    };
    return isNew || isMutation || typeof token === "object"
      ? ask()
      : this.once(JSON.stringify([document, variables, router, token, headers, operationName]), ask);
  }

  /** Sends an operation of the SDK. */
  operation(
    name: OperationName,
    variables: Variables = {},
    options: AskOptions = {},
  ): Promise<ServiceResponse> {
    const { text, router, kind } = operationDocuments[name];
    const token = kind === "mutation" ? "admin" : "reader";
    return this.graphql(text, variables, { router, token, ...options });
  }

  /** Sends a request of any form to the base address. */
  async raw(request: RawRequest, token: TokenName = "none"): Promise<ServiceResponse> {
    const { method, path, contentType, body } = request;
    this.sent.push([method, path, contentType, body].filter(Boolean).join(" ") + tokenText(token));
    return (await this.#send(request, token)).response;
  }

  /** Does something once in a run; what has failed is not tried again. */
  once<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const done = this.#memory.get(name) ?? work();
    this.#memory.set(name, done);
    done.catch(() => {});
    return done as Promise<Result>;
  }

  /** @throws Untestable without the key */
  key(name: KeyName | "wrong"): string {
    const key = name === "wrong" ? wrongKey : this.access.keys[name];
    if (key === undefined) throw new Untestable(`needs ${keyVariables[name as KeyName]}`);
    return key;
  }

  /** A URL that no receiver can have, another one each time. Default origin: one with `.invalid`, which never resolves. */
  url(name: string, origin = "https://receiver.invalid"): string {
    const url = `${origin}/workspace-tasks-compare/${this.#runId}/${name}-${this.#urls.size}`;
    this.#urls.set(new URL(url).href, url);
    return url;
  }

  /** The URL of the run that a service shows, perhaps in another form; what the run has created is found by it. */
  ownUrl(shown: unknown): string | undefined {
    const text = String(shown);
    return URL.canParse(text) ? this.#urls.get(new URL(text).href) : undefined;
  }

  /** The access token. @throws SendError when the service issues none */
  async token(name: TokenName): Promise<string | null> {
    if (name === "none") return null;
    if (name === "invalid") return invalidToken;
    const key = this.#keyOf(name);
    let tokens = this.#tokens.get(key);
    if (!tokens || tokens.usableUntilTicks <= this.clock.monotonic()) {
      tokens = await this.#exchange(key);
      this.#tokens.set(key, tokens);
    }
    return name === "user" ? tokens.userToken : tokens.workspaceToken;
  }

  /** Text without the keys of the run, without tokens and secrets, and without what controls a terminal. */
  plain(text: string): string {
    const { keys } = this.access;
    const withoutKeys = keyNames.reduce(
      (rest, name) => rest.replaceAll(keys[name] || "\0", `<${name} key>`),
      text,
    );
    return withoutKeys
      .replace(/eyJ[\w-]{8,}(\.[\w-]+)*|whsec_[\w+/=]+/g, "…")
      .replace(/\p{Cc}/gu, " ")
      .slice(0, 300);
  }

  #keyOf(name: Exclude<TokenName, "none" | "invalid">): KeyName {
    if (name === "readOnly" || name === "partner" || name === "admin") return name;
    const { admin, readOnly } = this.access.keys;
    return admin === undefined && readOnly !== undefined ? "readOnly" : "admin";
  }

  async #exchange(name: KeyName): Promise<Tokens> {
    const isPartner = name === "partner";
    const query = isPartner ? operationDocuments.LoginPartner.text : exchangeText;
    const variables = isPartner ? { token: this.key(name) } : { refreshToken: this.key(name) };
    const body = JSON.stringify({ query, variables });
    const router = isPartner ? "gateway" : "base";
    const { response } = await this.#send({ ...graphqlPost, body, router }, "none", query, variables);
    const issued = Object.values(response.data ?? {}).find(isPlainObject) ?? {};
    const { workspaceToken = issued["accessToken"], userToken = "" } = issued;
    if (typeof workspaceToken === "string" && typeof userToken === "string")
      return {
        workspaceToken,
        userToken,
        usableUntilTicks: this.clock.monotonic() + usableMs(workspaceToken),
      };
    const said = response.errors[0]?.message;
    throw new SendError("no-token", `the service issued no token${said === undefined ? "" : `: ${said}`}`);
  }

  async #send(
    request: RawRequest,
    token: NonNullable<AskOptions["token"]>,
    document = "",
    variables: Variables = {},
  ) {
    const { baseUrl, gatewayUrl } = this.access;
    const { method, path, contentType, body = null, router = "base", headers } = request;
    const origin = router === "base" ? baseUrl : gatewayUrl;
    if (origin === null) throw new Untestable("needs --gateway-url");
    const init = async () => {
      const bearer = typeof token === "object" ? token.bearer : await this.token(token);
      const own = {
        accept: "application/json",
        ...(contentType === undefined ? {} : { "content-type": contentType }),
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      };
      return { method, body, headers: { ...own, ...headers } };
    };
    const changes = document.startsWith("mutation") && !isLogin(document);
    const { received, isRepeated } = await this.sender.send(`${origin}${path}`, init, changes);
    const response = { ...this.#read(received), document, variables };
    this.responses.push(response);
    return { response, isRepeated };
  }

  #read({ status, headers, json, body }: Received) {
    const entries = valueAt(json, "errors");
    const data = valueAt(json, "data");
    return {
      status,
      body,
      data: isPlainObject(data) || data === null ? data : undefined,
      errors: Array.isArray(entries) ? entries.map((entry) => this.#readError(entry)) : [],
      contentType: mediaTypeOf(headers.get("content-type")),
    };
  }

  #readError(entry: unknown): ServiceError {
    const [message, code] = [valueAt(entry, "message"), valueAt(entry, "extensions", "code")];
    return {
      message: typeof message === "string" ? this.plain(message.replace(/\s*Did you mean[\s\S]*$/, "")) : "",
      code: typeof code === "string" ? this.plain(code) : null,
      path: valueAt(entry, "path"),
      text: JSON.stringify(entry) ?? "",
    };
  }

  /** What is sent, with the names of keys, and of fields in place of ids of the service. */
  #describe(document: string, variables: Variables, { token, router, headers }: AskOptions): string {
    const [, name] = /^(?:query|mutation) (\w+)/.exec(document) ?? [];
    const isOfService = (name: string) => /(^i|[a-z]I)ds?$|^iterator$/.test(name);
    const named = JSON.stringify(variables, (name, value) =>
      isOfService(name) && !/^not-/.test(String(value)) ? `<${name}>` : value,
    );
    const text = named.replaceAll(this.#runId, "…");
    const place = router === "gateway" ? " on the gateway" : "";
    const added = headers === undefined ? "" : `, with the header ${Object.keys(headers).join(", ")}`;
    const asked = `${name ?? document}${text === "{}" ? "" : ` ${text}`}`;
    return this.plain(asked) + place + tokenText(token) + added;
  }
}

/** The two mutations that change nothing: they issue tokens. */
const isLogin = (document: string) => /^mutation (ExchangeApiKey|LoginPartner)\b/.test(document);

/** Without parameters; `none` when it has no usual form. */
export const mediaTypeOf = (contentType: string | null | undefined): string =>
  /^[a-z]+\/[a-z0-9.+-]{1,60}/i.exec(contentType ?? "")?.[0].toLowerCase() ?? "none";

const tokenTexts: Readonly<Partial<Record<TokenName, string>>> = {
  readOnly: ", with a read-only key",
  user: ", with a userToken",
  partner: ", with a partner's token",
  none: ", without a token",
  invalid: ", with a token that was never issued",
};

const tokenText = (token: AskOptions["token"]): string =>
  typeof token === "object" ? ", with another token" : (tokenTexts[token ?? "reader"] ?? "");

/** The payload of a JWT, unverified; `null` for a token of another kind. */
export function claimsOf(token: unknown): Readonly<Record<string, unknown>> | null {
  const payload = typeof token === "string" && token.length <= 8_192 ? token.split(".")[1] : undefined;
  const claims =
    payload === undefined ? null : jsonOrUndefined(Buffer.from(payload, "base64url").toString("utf8"));
  return isPlainObject(claims) ? claims : null;
}

function usableMs(token: string): number {
  const { exp, iat } = claimsOf(token) ?? {};
  if (typeof exp !== "number" || typeof iat !== "number") return 90_000;
  const lifetimeMs = (exp - iat) * 1_000;
  return Math.max(lifetimeMs / 3, lifetimeMs - tokenMarginMs);
}
