// Sends one GraphQL request through graphql-request. The users of this project asked for graphql-request by name, so it
// stays, although it contributes little here: the document is sent as the string that it is
// (`excludeOperationName` keeps graphql-request from parsing it on every call; the known name is added when the body is
// written), and the body is read and parsed here, which limits its size and finds out what is wrong with it.
// graphql-request puts all variables into its error messages, so its errors never leave this file.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { kindOf } from "@workspace-tasks/kernel/schema.ts";
import { GraphQLClient } from "graphql-request";
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
    let result: SendResult = { type: "unsendable", cause: undefined };
    const client = new GraphQLClient(url.href, {
      fetch: async (input, init) => {
        result = await this.#fetch(input, String(init?.body));
        return emptyResponse;
      },
      excludeOperationName: true,
      jsonSerializer: {
        parse: JSON.parse,
        stringify: () =>
          JSON.stringify({ query: operation.document, variables, operationName: operation.name }),
      },
    });
    try {
      await client.rawRequest(operation.document);
      return result;
    } catch (cause) {
      return this.#isSent ? { type: "broken", cause, response: this.#head } : { type: "unsendable", cause };
    }
  }

  async #fetch(input: Request | URL | string, body: string): Promise<SendResult> {
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
    const head = headOf(response);
    if (!head) return { type: "no_response", got: kindOf(response) };
    this.#head = head;
    onHeaders?.();
    this.#body = new ResponseBody(response as FetchResponse);
    // The response arrived although the request was aborted; its body would stay open.
    if (this.#controller.signal.aborted) this.abort();
    const text = await this.#body.text(maxResponseBytes);
    if (text !== undefined) return { type: "response", response: readBody(head, text) };
    this.abort();
    return { type: "too_large", response: head };
  }
}

// What graphql-request reads of a response. The label of the service's own proves nothing: the parser decides.
const emptyResponse = {
  ok: true,
  status: 200,
  headers: { get: () => "application/json" },
  text: () => "{}",
} as unknown as Response;

/** The parser's message quotes the body and is dropped. */
function readBody({ status, headers }: ResponseHead, text: string): GraphQLResponse {
  let body: unknown;
  let isTruncated = false;
  try {
    body = JSON.parse(text);
  } catch {
    isTruncated = /^\s*[[{]/.test(text);
  }
  const { data, errors, extensions } = isPlainObject(body) ? body : {};
  const isGraphQL = data !== undefined || errors !== undefined;
  return { status, headers, data, errors, extensions, isGraphQL, isTruncated };
}
