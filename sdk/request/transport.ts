// Sends one GraphQL request through graphql-request. The users of this project asked for graphql-request by name, so it
// stays, although it contributes little here: the document is sent as the string that it is
// (`excludeOperationName` keeps graphql-request from parsing it on every call; the known name is added when the body is
// written), and the body is read here to limit its size. graphql-request puts all variables and the response body into
// its error messages, so its errors never leave this file.

import { kindOf } from "@workspace-tasks/kernel/schema.ts";
import { ClientError, GraphQLClient } from "graphql-request";
import type { UntypedOperation } from "../call/operation.ts";
import { type Fetch, type FetchInit, type FetchResponse, headOf, type ResponseHead } from "./fetch.ts";
import { ResponseBody } from "./response-body.ts";

export interface SendRequest {
  readonly operation: UntypedOperation;
  readonly variables: unknown;
  readonly url: URL;
  /** All but that of the token; graphql-request's are not sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly token?: string | undefined;
  readonly fetch: Fetch;
  readonly maxResponseBytes: number;
  /** Called when the status line and headers have arrived, before the body is read. */
  readonly onHeaders?: (() => void) | undefined;
}

/** What was received, before it is classified. */
export type SendResult =
  | { readonly type: "response"; readonly response: GraphQLResponse }
  | { readonly type: "unsendable"; readonly cause: unknown }
  /** The `fetch` that was passed returned something else than a `Response`. */
  | { readonly type: "no_response"; readonly got: string }
  | { readonly type: "too_large"; readonly response: ResponseHead }
  | { readonly type: "broken"; readonly cause: unknown; readonly response: ResponseHead | undefined };

export interface GraphQLResponse extends ResponseHead {
  /** False when the body was not JSON, or JSON without `data` and `errors`. */
  readonly isGraphQL: boolean;
  /** The body begins as JSON and is none: most likely it was cut. */
  readonly isTruncated: boolean;
  readonly data: unknown;
}

/** One request in flight. */
export class RoundTrip {
  /** Never rejects. */
  readonly result: Promise<SendResult>;
  readonly #request: SendRequest;
  readonly #controller = new AbortController();
  #isSent = false;
  #head: ResponseHead | undefined;
  #body: ResponseBody | undefined;
  #text: string | undefined;
  /** Set before `fetch` fails for graphql-request. */
  #found: SendResult | undefined;

  constructor(request: SendRequest) {
    this.#request = request;
    this.result = this.#send();
  }

  /** Gives up the request and its body, even when `fetch` ignores its signal. */
  abort(): void {
    this.#controller.abort();
    this.#body?.cancel(this.#controller.signal.reason);
  }

  async #send(): Promise<SendResult> {
    const { operation, variables, url } = this.#request;
    const client = new GraphQLClient(url.href, {
      fetch: (input, init) => this.#fetch(input, String(init?.body)),
      excludeOperationName: true,
      errorPolicy: "all",
      jsonSerializer: {
        parse: JSON.parse,
        stringify: () =>
          JSON.stringify({ query: operation.document, variables, operationName: operation.name }),
      },
    });
    try {
      // biome-ignore lint/suspicious/noExplicitAny: the variables were typed where the operation was.
      const { data, errors, extensions } = await client.rawRequest<unknown, any>({
        query: operation.document,
        variables,
      });
      return this.#responded({ data, errors, extensions, isGraphQL: true });
    } catch (error) {
      return this.#resultOf(error);
    }
  }

  #resultOf(error: unknown): SendResult {
    if (!this.#isSent) return { type: "unsendable", cause: error };
    if (this.#found) return this.#found;
    if (error instanceof ClientError) {
      const { data, errors, extensions } = error.response;
      const isGraphQL = data !== undefined || errors !== undefined;
      return this.#responded({ data, errors, extensions, isGraphQL });
    }
    // The body was read completely, so it was not JSON. The parser's message quotes it and is dropped.
    if (this.#text !== undefined) {
      const isTruncated = /^\s*[[{]/.test(this.#text);
      return this.#responded({ data: undefined, isGraphQL: false, isTruncated });
    }
    return { type: "broken", cause: error, response: this.#head };
  }

  #responded(
    body: Pick<GraphQLResponse, "data" | "errors" | "extensions" | "isGraphQL"> & { isTruncated?: boolean },
  ): SendResult {
    const { status, headers } = this.#head ?? { status: 0, headers: new Headers() };
    return { type: "response", response: { status, headers, isTruncated: false, ...body } };
  }

  async #fetch(input: Request | URL | string, body: string): Promise<Response> {
    const { fetch, headers, token, onHeaders, maxResponseBytes } = this.#request;
    this.#isSent = true;
    const init: FetchInit = {
      method: "POST",
      headers: token === undefined ? { ...headers } : { ...headers, authorization: `Bearer ${token}` },
      body,
      redirect: "manual",
      signal: this.#controller.signal,
    };
    const response: unknown = await fetch(input instanceof Request ? input.url : input, init);
    this.#head = headOf(response);
    if (!this.#head) {
      this.#found = { type: "no_response", got: kindOf(response) };
      throw new Error("expected a Response");
    }
    const { status } = this.#head;
    onHeaders?.();
    this.#body = new ResponseBody(response as FetchResponse);
    // The response arrived although the request was aborted; its body would stay open.
    if (this.#controller.signal.aborted) this.abort();
    const text = await this.#body.text(maxResponseBytes);
    if (text === undefined) {
      this.#found = { type: "too_large", response: this.#head };
      this.abort();
      throw new Error("the response is larger than maxResponseBytes");
    }
    this.#text = text;
    // graphql-request uses these four fields, and of the headers only the content type. It gets "JSON" whatever the
    // service sent: the label proves nothing, the parser decides.
    const ok = status >= 200 && status < 300;
    return { ok, status, headers: jsonHeaders, text: () => text } as unknown as Response;
  }
}

const jsonHeaders = { get: () => "application/json" };
