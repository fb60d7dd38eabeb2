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
  detailsOf,
  failureIn,
  type GraphQLResponse,
  networkFailure,
  notResponse,
} from "./classify-response.ts";
import { type Fetch, headOf, ResponseBody, type ResponseHead, requestDefaults } from "./fetch.ts";

/** Sends one request and classifies the response; ended by `timeoutMs` or by the call's scope. */
export type SendAttempt = (request: AttemptRequest) => Promise<AttemptResult>;

export interface AttemptRequest {
  readonly operation: UntypedOperation;
  readonly variables: unknown;
  readonly url: URL;
  /** All but that of the token. */
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
  readonly data?: unknown;
  /** Why the attempt has no usable data. */
  readonly failure: Failure | undefined;
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
  return (request) => new Attempt(request, options).run();
}

class Attempt {
  readonly #request: AttemptRequest;
  readonly #options: AttemptSenderOptions;
  readonly #controller = new AbortController();
  #isSent = false;
  #head: ResponseHead | undefined;
  #respondedAtMs: number | undefined;
  #body: ResponseBody | undefined;
  #text: string | undefined;

  constructor(request: AttemptRequest, options: AttemptSenderOptions) {
    this.#request = request;
    this.#options = options;
  }

  async run(): Promise<AttemptResult> {
    const { clock, redactor } = this.#options;
    const { url, timeoutMs, scope: parent, kind, onData } = this.#request;
    if (parent.failure) return this.#result(parent.failure);
    const scope = parent.child({ limitMs: timeoutMs, onLimit: (ms) => timedOut(url, ms) });
    try {
      scope.onEnd(() => this.#abort());
      const response = await scope.race(this.#send());
      const { data } = response;
      onData?.(data);
      const failure = failureIn(response, { kind, redactor, url, nowMs: clock.now() });
      return { ...this.#result(failure, response), data };
    } catch (error) {
      const failed = error instanceof FailureError ? error.failure : unreadable(redactor.cause(error));
      // The request was in flight, so its effect is unknown.
      if (scope.failure === failed) return this.#result({ ...failed, outcome: "unknown" });
      return this.#result(failed, this.#head);
    } finally {
      scope.dispose();
    }
  }

  #result(failure: Failure | undefined, response?: ResponseHead): AttemptResult {
    return { failure, sent: this.#isSent, response, respondedAtMs: this.#respondedAtMs };
  }

  /** Gives up the request and its body, even when `fetch` ignores its signal. */
  #abort(): void {
    this.#controller.abort();
    this.#body?.cancel(this.#controller.signal.reason);
  }

  async #send(): Promise<GraphQLResponse> {
    const { operation, variables, url } = this.#request;
    const client = new GraphQLClient(url.href, {
      fetch: (input, init) => this.#fetch(input as URL, init?.body as string),
      errorPolicy: "all",
      // The document would otherwise be parsed for each call, for its name, which is known.
      excludeOperationName: true,
      jsonSerializer: {
        parse: parseBody,
        stringify: (body: object) => JSON.stringify({ ...body, operationName: operation.name }),
      },
    });
    try {
      return this.#received(await client.rawRequest(operation.document, variables as object));
    } catch (error) {
      if (error instanceof FailureError) throw error;
      // graphql-request puts variables and body into its errors, so they never leave this function.
      if (this.#text === undefined) throw new FailureError(this.#withoutBody(error));
      return this.#received({}, error instanceof SyntaxError && /^\s*[[{]/.test(this.#text));
    }
  }

  async #fetch(url: URL, body: string): Promise<Response> {
    const { fetch, clock, redactor, maxResponseBytes } = this.#options;
    const { headers, token } = this.#request;
    this.#isSent = true;
    const response = await fetch(url, {
      method: "POST",
      headers: token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` },
      body,
      ...requestDefaults(),
      signal: this.#controller.signal,
    });
    this.#head = headOf(response);
    if (!this.#head) {
      this.#abort();
      throw new FailureError(notResponse(kindOf(response)));
    }
    this.#respondedAtMs = clock.monotonic();
    this.#body = new ResponseBody(response);
    // The response arrived although the request was aborted; its body would stay open.
    if (this.#controller.signal.aborted) this.#abort();
    this.#text = await this.#body.text(maxResponseBytes);
    if (this.#text !== undefined) return readable(this.#head.status, this.#text);
    this.#abort();
    const details = { outcome: "unknown", ...detailsOf(this.#head, redactor) } as const;
    const message = "the response is larger than maxResponseBytes";
    throw new FailureError(failure("RESPONSE_INVALID", message, details));
  }

  /** The variables could not be written, or the connection broke. */
  #withoutBody(error: unknown): Failure {
    const { redactor } = this.#options;
    if (!this.#isSent) {
      const cause = redactor.cause(error);
      return failure("ARGUMENT_INVALID", "expected variables that can be written as JSON", { cause });
    }
    const { host } = this.#request.url;
    const failed = networkFailure(error, this.#head !== undefined, { redactor, host });
    return this.#head ? { ...failed, ...detailsOf(this.#head, redactor) } : failed;
  }

  #received(found: Partial<GraphQLResponse>, isTruncated = false): GraphQLResponse {
    const { status = 0, headers = new Headers() } = this.#head ?? {};
    const { data, errors, extensions } = found;
    const isGraphQL = data !== undefined || errors !== undefined;
    return { status, headers, data, errors, extensions, isGraphQL, isTruncated };
  }
}

// A response of the caller's `fetch` can be any object.
function unreadable(cause: unknown): Failure {
  const message = "the response of the option fetch cannot be read";
  return failure("RESPONSE_INVALID", message, { outcome: "unknown", cause });
}

function timedOut({ host }: URL, limitMs: number): Failure {
  const message = `the request to ${host} took longer than timeoutMs (${limitMs})`;
  return failure("REQUEST_TIMEOUT", message, { outcome: "unknown", remedy: "repeat" });
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
