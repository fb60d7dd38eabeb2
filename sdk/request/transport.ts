// Sends one GraphQL request through graphql-request, which builds the body, parses the response and reports data and
// errors. Its `fetch` is that of the caller with the limits of an attempt around it: time, abort, size, redirects.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { kindOf } from "@workspace-tasks/kernel/schema.ts";
import { GraphQLClient } from "graphql-request";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure } from "../call/failure.ts";
import type { OperationKind, UntypedOperation } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import {
  type Classification,
  classifyResponse,
  type GraphQLResponse,
  type SendResult,
} from "./classify-response.ts";
import { type Fetch, headOf, ResponseBody, type ResponseHead, requestDefaults } from "./fetch.ts";

/** Sends one request and classifies the response; ended by `timeoutMs` or by the call's scope. */
export type SendAttempt = (request: AttemptRequest) => Promise<AttemptResult>;

export interface AttemptRequest {
  readonly operation: UntypedOperation;
  readonly variables: unknown;
  readonly url: URL;
  /** All but those of graphql-request and of the token. */
  readonly headers: Readonly<Record<string, string>>;
  readonly token?: string | undefined;
  readonly timeoutMs: number;
  readonly scope: CallScope;
  /** Which rules classify the response. The token exchange is a mutation, classified as a query: it is safe to repeat. */
  readonly kind: OperationKind;
  /** Called with the response's data before it is classified: secrets in it are remembered, and so not printed. */
  readonly onData?: ((data: unknown) => void) | undefined;
}

export interface AttemptResult {
  readonly classification: Classification;
  /** False when the request certainly was not sent. */
  readonly sent: boolean;
  readonly response: ResponseHead | undefined;
  /** When the response headers arrived; monotonic. */
  readonly respondedAtMs: number | undefined;
}

export interface AttemptSenderOptions {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly maxResponseBytes: number;
}

export function createAttemptSender(options: AttemptSenderOptions): SendAttempt {
  const { clock, redactor } = options;
  return async (request) => {
    const { url, timeoutMs, scope, kind, onData } = request;
    if (scope.failure) return withoutResponse(scope.failure, false);
    const attemptScope = scope.child({ limitMs: timeoutMs, onLimit: (ms) => timedOut(url, ms) });
    const trip = new RoundTrip(request, options);
    try {
      attemptScope.onEnd(() => trip.abort());
      const result = await attemptScope.race(trip.result);
      if (result.type === "response") onData?.(result.response.data);
      const classification = classifyResponse(result, { kind, redactor, url, nowMs: clock.now() });
      const response = "response" in result ? result.response : undefined;
      return { classification, sent: trip.isSent, response, respondedAtMs: trip.respondedAtMs };
    } catch (error) {
      const failed = error instanceof FailureError ? error.failure : unreadable(redactor.cause(error));
      // The request was in flight, so its effect is unknown.
      const { respondedAtMs } = trip;
      return { ...withoutResponse({ ...failed, outcome: "unknown" }, true), respondedAtMs };
    } finally {
      attemptScope.dispose();
    }
  };
}

// A response of the caller's `fetch` can be any object.
function unreadable(cause: unknown): Failure {
  return failure("RESPONSE_INVALID", "the response of the option fetch cannot be read", { cause });
}

function withoutResponse(failure: Failure, sent: boolean): AttemptResult {
  return { classification: { ok: false, failure }, sent, response: undefined, respondedAtMs: undefined };
}

function timedOut({ host }: URL, limitMs: number): Failure {
  const message = `the request to ${host} took longer than timeoutMs (${limitMs})`;
  return failure("REQUEST_TIMEOUT", message, { outcome: "unknown", remedy: "repeat" });
}

/** One request in flight. */
class RoundTrip {
  /** Never rejects. */
  readonly result: Promise<SendResult>;
  isSent = false;
  respondedAtMs: number | undefined;
  readonly #request: AttemptRequest;
  readonly #options: AttemptSenderOptions;
  readonly #controller = new AbortController();
  #head: ResponseHead | undefined;
  #body: ResponseBody | undefined;
  #text: string | undefined;
  /** What was received instead of a response that graphql-request could read. */
  #unusable: SendResult | undefined;

  constructor(request: AttemptRequest, options: AttemptSenderOptions) {
    this.#request = request;
    this.#options = options;
    this.result = this.#send();
  }

  /** Gives up the request and its body, even when `fetch` ignores its signal. */
  abort(): void {
    this.#controller.abort();
    this.#body?.cancel(this.#controller.signal.reason);
  }

  async #send(): Promise<SendResult> {
    const { operation, variables, url, headers, token } = this.#request;
    const client = new GraphQLClient(url.href, {
      headers: token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` },
      fetch: (input, init) => this.#fetch(input as URL, init as SentInit),
      errorPolicy: "all",
      // Without it the document would be parsed for each call, for its name, which is known.
      excludeOperationName: true,
      jsonSerializer: {
        parse: parseBody,
        stringify: (body: object) => JSON.stringify({ ...body, operationName: operation.name }),
      },
    });
    try {
      return this.#response(await client.rawRequest(operation.document, variables as object));
    } catch (cause) {
      // graphql-request puts variables and body into its errors, so they never leave this function.
      if (this.#unusable) return this.#unusable;
      if (!this.isSent) return { type: "unsendable", cause };
      if (this.#text === undefined) return { type: "broken", cause, response: this.#head };
      return this.#response({}, cause instanceof SyntaxError && /^\s*[[{]/.test(this.#text));
    }
  }

  async #fetch(url: URL, { headers, body }: SentInit): Promise<Response> {
    const { fetch, clock, maxResponseBytes } = this.#options;
    this.isSent = true;
    const response = await fetch(url, {
      method: "POST",
      headers: Object.fromEntries(headers),
      body,
      ...requestDefaults(),
      signal: this.#controller.signal,
    });
    this.#head = headOf(response);
    if (!this.#head) throw this.#give({ type: "no_response", got: kindOf(response) });
    this.respondedAtMs = clock.monotonic();
    this.#body = new ResponseBody(response);
    // The response arrived although the request was aborted; its body would stay open.
    if (this.#controller.signal.aborted) this.abort();
    this.#text = await this.#body.text(maxResponseBytes);
    if (this.#text === undefined) throw this.#give({ type: "too_large", response: this.#head });
    return readable(this.#head.status, this.#text);
  }

  /** Ends the request with this result. */
  #give(result: SendResult): Error {
    this.#unusable = result;
    this.abort();
    return new Error(result.type);
  }

  #response(found: Partial<GraphQLResponse>, isTruncated = false): SendResult {
    const { status = 0, headers = new Headers() } = this.#head ?? {};
    const { data, errors, extensions } = found;
    const isGraphQL = data !== undefined || errors !== undefined;
    return {
      type: "response",
      response: { status, headers, data, errors, extensions, isGraphQL, isTruncated },
    };
  }
}

/** What graphql-request gives to its `fetch`. */
interface SentInit {
  readonly headers: Headers;
  readonly body: string;
}

/** What graphql-request reads of a response: of any status, and whatever its label says, because the parser decides. */
function readable(status: number, text: string): Response {
  const headers = { get: () => "application/json" };
  return { ok: true, status, headers, text: async () => text } as unknown as Response;
}

/** Some servers send `errors: null` and `extensions: null`, which graphql-request does not take. */
function parseBody(text: string): unknown {
  const body: unknown = JSON.parse(text);
  if (!isPlainObject(body)) return body;
  for (const name of ["errors", "extensions"] as const) if (body[name] === null) delete body[name];
  return body;
}
