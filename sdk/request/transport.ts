import { ClientError, GraphQLClient } from "graphql-request";
import type { OperationFacts } from "../call/operation.ts";

/**
 * One request over graphql-request. Of its answers only the parts are taken over: its errors carry every variable
 * and the whole body in their message, so none of them leaves this file. The document goes out as the string it
 * is; `excludeOperationName` keeps graphql-request from parsing it on every call, and the name, known already,
 * is put back while the body is written.
 */
export interface SendRequest {
  readonly operation: OperationFacts;
  readonly variables: unknown;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly responseBytesMax: number;
  /** The status line and headers are there; the body is not yet read. */
  readonly onHeaders?: (() => void) | undefined;
}

export type Fetch = (input: URL | string, init?: RequestInit) => Promise<Response>;

/** A request on its way. */
export interface Sending {
  /** Never rejects. */
  readonly reply: Promise<Reply>;
  /** Gives the request up wherever it is, and its body with it, whatever `fetch` makes of its signal. */
  stop(): void;
}

/** What came back, before anybody judges it. */
export type Reply =
  | { readonly type: "answer"; readonly answer: Answer }
  | { readonly type: "unsendable"; readonly cause: unknown }
  | { readonly type: "too_large"; readonly answer: AnswerHead }
  | { readonly type: "broken"; readonly cause: unknown; readonly answer: AnswerHead | undefined };

export interface AnswerHead {
  readonly status: number;
  readonly headers: Headers;
}

export interface Answer extends AnswerHead {
  /** False when the body was not JSON, or JSON that no GraphQL service answers with. */
  readonly isGraphQL: boolean;
  readonly data: unknown;
  readonly errors: unknown;
}

export function send(request: SendRequest): Sending {
  const exchange: HttpExchange = {
    controller: new AbortController(),
    sent: false,
    head: undefined,
    body: undefined,
    read: false,
    tooLarge: false,
  };
  return { reply: replyTo(request, exchange), stop: () => stop(exchange) };
}

interface HttpExchange {
  readonly controller: AbortController;
  sent: boolean;
  head: AnswerHead | undefined;
  body: ReadableStreamDefaultReader<Uint8Array> | undefined;
  read: boolean;
  tooLarge: boolean;
}

function stop({ controller, body }: HttpExchange): void {
  controller.abort();
  // A stream that has failed already says so again.
  body?.cancel(controller.signal.reason).catch(() => {});
}

async function replyTo(request: SendRequest, exchange: HttpExchange): Promise<Reply> {
  const { operation, variables, url } = request;
  const client = new GraphQLClient(url.href, {
    fetch: (input, init) => fetchAnswer(request, exchange, input, init),
    excludeOperationName: true,
    errorPolicy: "all",
    // A followed redirect would carry the key or the token to another host.
    redirect: "manual",
    jsonSerializer: {
      parse: JSON.parse,
      stringify: (body: object) => JSON.stringify({ ...body, operationName: operation.name }),
    },
  });
  try {
    const { signal } = exchange.controller;
    // biome-ignore lint/suspicious/noExplicitAny: the variables were typed where the operation was.
    const raw = await client.rawRequest<unknown, any>({
      query: operation.document,
      variables,
      signal,
      requestHeaders: request.headers,
    });
    return answered(exchange, raw.data, raw.errors, true);
  } catch (error) {
    return judge(error, exchange);
  }
}

function judge(error: unknown, exchange: HttpExchange): Reply {
  if (!exchange.sent) return { type: "unsendable", cause: error };
  if (exchange.tooLarge && exchange.head) return { type: "too_large", answer: exchange.head };
  if (error instanceof ClientError) {
    const { data, errors } = error.response;
    return answered(exchange, data, errors, data !== undefined || errors !== undefined);
  }
  // Read whole, and still an error: the text was not JSON. The parser's message quotes it, so it stays here.
  if (exchange.read) return answered(exchange, undefined, undefined, false);
  return { type: "broken", cause: error, answer: exchange.head };
}

function answered(exchange: HttpExchange, data: unknown, errors: unknown, isGraphQL: boolean): Reply {
  const { status, headers } = exchange.head ?? { status: 0, headers: new Headers() };
  return { type: "answer", answer: { status, headers, isGraphQL, data, errors } };
}

async function fetchAnswer(
  request: SendRequest,
  exchange: HttpExchange,
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit | undefined,
): Promise<Response> {
  exchange.sent = true;
  const response = await request.fetch(input instanceof Request ? input.url : input, init);
  const { status, headers } = response;
  exchange.head = { status, headers };
  request.onHeaders?.();
  const body = await readText(response, exchange, request.responseBytesMax);
  exchange.tooLarge = body === undefined;
  if (body === undefined) throw new Error("the answer is larger than responseBytesMax");
  exchange.read = true;
  // graphql-request uses these four fields, and of the headers only the content type. It is told "JSON" whatever the
  // service said: a label proves nothing, the parser decides.
  const reading = { ok: response.ok, status, headers: jsonLabel, text: async () => body };
  return reading as unknown as Response;
}

const jsonLabel = { get: () => "application/json" };

/** The body as text, or undefined when it is larger than `bytesMax`. */
async function readText(
  response: Response,
  exchange: HttpExchange,
  bytesMax: number,
): Promise<string | undefined> {
  if (!response.body) return response.text();
  const reader = response.body.getReader();
  exchange.body = reader;
  // It came although the request had been given up; nobody else will close it.
  if (exchange.controller.signal.aborted) stop(exchange);
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  // One chunk behind: what is known to be the end is decoded several times faster than what may go on, and most
  // bodies come in one piece.
  let last: Uint8Array | undefined;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode(last);
    bytes += value.byteLength;
    if (bytes > bytesMax) {
      stop(exchange);
      return undefined;
    }
    if (last) text += decoder.decode(last, { stream: true });
    last = value;
  }
}
