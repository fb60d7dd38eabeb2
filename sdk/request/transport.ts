// Sends one GraphQL request through graphql-request. The users of this project asked for graphql-request by name, so it
// stays, although it contributes little here: the document is sent as the string that it is
// (`excludeOperationName` keeps graphql-request from parsing it on every call; the known name is added when the body is
// written), and the body is read here to limit its size. graphql-request puts all variables and the response body into
// its error messages, so its errors never leave this file.

import { ClientError, GraphQLClient } from "graphql-request";
import type { UntypedOperation } from "../call/operation.ts";

export type Fetch = (input: URL | string, init?: RequestInit) => Promise<Response>;

export interface SendRequest {
  readonly operation: UntypedOperation;
  readonly variables: unknown;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly responseBytesMax: number;
  /** Called when the status line and headers have arrived, before the body is read. */
  readonly onHeaders?: (() => void) | undefined;
}

/** A request in flight. */
export interface SentRequest {
  /** Never rejects. */
  readonly result: Promise<SendResult>;
  /** Gives up the request and its body, even when `fetch` ignores its signal. */
  abort(): void;
}

/** What was received, before it is classified. */
export type SendResult =
  | { readonly type: "response"; readonly response: GraphQLResponse }
  | { readonly type: "unsendable"; readonly cause: unknown }
  | { readonly type: "too_large"; readonly response: ResponseHead }
  | { readonly type: "broken"; readonly cause: unknown; readonly response: ResponseHead | undefined };

export interface ResponseHead {
  readonly status: number;
  readonly headers: Headers;
}

export interface GraphQLResponse extends ResponseHead {
  /** False when the body was not JSON, or JSON without `data` and `errors`. */
  readonly isGraphQL: boolean;
  readonly data: unknown;
  readonly errors: unknown;
}

export function send(request: SendRequest): SentRequest {
  const trip: RoundTrip = {
    controller: new AbortController(),
    sent: false,
    head: undefined,
    reader: undefined,
    bodyRead: false,
    tooLarge: false,
  };
  return { result: resultOf(request, trip), abort: () => abort(trip) };
}

/** The progress of one request. */
interface RoundTrip {
  readonly controller: AbortController;
  sent: boolean;
  head: ResponseHead | undefined;
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  bodyRead: boolean;
  tooLarge: boolean;
}

function abort({ controller, reader }: RoundTrip): void {
  controller.abort();
  // A stream that has already failed rejects again.
  reader?.cancel(controller.signal.reason).catch(() => {});
}

async function resultOf(request: SendRequest, trip: RoundTrip): Promise<SendResult> {
  const { operation, variables, url, headers } = request;
  const client = new GraphQLClient(url.href, {
    fetch: (input, init) => fetchResponse(request, trip, input, init),
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
    // biome-ignore lint/suspicious/noExplicitAny: the variables were typed where the operation was.
    const { data, errors } = await client.rawRequest<unknown, any>({
      query: operation.document,
      variables,
      signal: trip.controller.signal,
      requestHeaders: headers,
    });
    return responded(trip, data, errors, true);
  } catch (error) {
    return resultOfError(error, trip);
  }
}

function resultOfError(error: unknown, trip: RoundTrip): SendResult {
  if (!trip.sent) return { type: "unsendable", cause: error };
  if (trip.tooLarge && trip.head) return { type: "too_large", response: trip.head };
  if (error instanceof ClientError) {
    const { data, errors } = error.response;
    return responded(trip, data, errors, data !== undefined || errors !== undefined);
  }
  // The body was read completely, so it was not JSON. The parser's message quotes it and is dropped.
  if (trip.bodyRead) return responded(trip, undefined, undefined, false);
  return { type: "broken", cause: error, response: trip.head };
}

function responded(trip: RoundTrip, data: unknown, errors: unknown, isGraphQL: boolean): SendResult {
  const { status, headers } = trip.head ?? { status: 0, headers: new Headers() };
  return { type: "response", response: { status, headers, isGraphQL, data, errors } };
}

async function fetchResponse(
  request: SendRequest,
  trip: RoundTrip,
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit | undefined,
): Promise<Response> {
  trip.sent = true;
  const response = await request.fetch(input instanceof Request ? input.url : input, init);
  const { ok, status, headers } = response;
  trip.head = { status, headers };
  request.onHeaders?.();
  const body = await readText(response, trip, request.responseBytesMax);
  trip.bodyRead = true;
  // graphql-request uses these four fields, and of the headers only the content type. It gets "JSON" whatever the service
  // sent: the label proves nothing, the parser decides.
  return { ok, status, headers: jsonHeaders, text: async () => body } as unknown as Response;
}

const jsonHeaders = { get: () => "application/json" };

/** Reads the body; throws when it is larger than `bytesMax`. */
async function readText(response: Response, trip: RoundTrip, bytesMax: number): Promise<string> {
  if (!response.body) return response.text();
  const reader = response.body.getReader();
  trip.reader = reader;
  // The response arrived although the request was aborted; its body would stay open.
  if (trip.controller.signal.aborted) abort(trip);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new TextDecoder().decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    bytes += value.byteLength;
    if (bytes > bytesMax) {
      trip.tooLarge = true;
      abort(trip);
      throw new Error("the response is larger than responseBytesMax");
    }
    chunks.push(value);
  }
}
