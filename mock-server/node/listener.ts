import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ReadableStream } from "node:stream/web";
import type { Listener } from "../create-mock.ts";
import type { MockServerError } from "../errors.ts";
import { ConnectionCutError } from "../faults/fetch-response.ts";
import { decodeBody } from "../graphql/request-context.ts";
import { clocksFor, type Located, locate } from "../http/find-world.ts";
import { holdRequest, type RequestHold } from "../http/request-hold.ts";
import { type Handler, routerAt, serveGraphql } from "../http/router.ts";
import type { Service } from "../http/service.ts";
import type { Router } from "../state/router.ts";
import { type ClientRequests, watchClientRequests } from "./client-requests.ts";
import { allowPage, isPreflight } from "./cors.ts";
import { discardRest, readIncomingBody } from "./read-incoming-body.ts";
import { createRequestGuard, type RequestGuard } from "./request-guard.ts";
import { writeResponse } from "./write-response.ts";

export interface HttpListenerOptions {
  readonly service: Service;
  readonly handler: Handler;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly hostsAllowed: readonly string[];
  readonly originsAllowed: readonly string[];
}

/** Addresses that mean all interfaces of this computer, and one that a client on it can call. */
const wildcards: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** @throws Error with the system's `code` (such as EADDRINUSE) when the port is not available */
export async function listenHttp(options: HttpListenerOptions): Promise<Listener> {
  const guard = createRequestGuard(options);
  let clients: ClientRequests | null = null;
  const server = createServer((request, response) => {
    const received = {
      request,
      response,
      hold: clients ? holdReceived(options, clients, request, response) : null,
    };
    serveRequest(options, guard, received)
      .catch((error: unknown) => {
        if (error instanceof ConnectionCutError) request.socket.resetAndDestroy();
        else failClosed(response);
      })
      .finally(() => discardRest(request));
  });
  server.listen(options.port, options.host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const reachable = wildcards[options.host] ?? options.host;
  const host = reachable.includes(":") ? `[${reachable}]` : reachable;
  const origin = `http://${host}:${port}`;
  return {
    origin,
    watchClients() {
      const clocksOf = (path: string, authorization: string | undefined) =>
        clocksFor(options.service, path, authorization);
      clients ??= watchClientRequests({ origin, clocksOf });
    },
    close() {
      clients?.stop();
      return closeServer(server);
    },
  };
}

interface Received {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** `null` while every world has a real clock. */
  readonly hold: RequestHold | null;
}

function holdReceived(
  { service }: HttpListenerOptions,
  clients: ClientRequests,
  request: IncomingMessage,
  response: ServerResponse,
): RequestHold {
  const { method = "GET", url = "/", headers, socket } = request;
  const path = url.split("?", 1)[0] ?? "/";
  const what = `${method} ${path}`;
  const hold = holdRequest(
    clocksFor(service, path, headers.authorization),
    { what },
    clients.sentFrom(socket.remotePort),
  );
  response.once("close", hold.release);
  return hold;
}

async function serveRequest(
  options: HttpListenerOptions,
  guard: RequestGuard,
  received: Received,
): Promise<void> {
  const { request, response } = received;
  const path = request.url?.split("?", 1)[0] ?? "/";
  const located = locate(options.service, path);
  const router = located && routerAt(located.path);
  const rejection = guard.rejectionOf(request);
  if (rejection) return reject(response, rejection, router);
  const origin = guard.allowedOrigin(request);
  if (origin !== null) {
    allowPage(request, response, origin);
    if (isPreflight(request)) return void response.writeHead(204).end();
  }
  if (router) await respondToGraphql(located, router, received);
  else await serveFetch(options.handler, received);
}

// The hot path: without a fetch `Request` and `Response`, which cost more than a small query.
async function respondToGraphql(
  located: Located,
  router: Router,
  { request, response, hold }: Received,
): Promise<void> {
  const { bodyBytesMax } = located.service.worlds.current.settings.bounds;
  const body = decodeBody(await readIncomingBody(request, bodyBytesMax));
  const { method = "GET", headers } = request;
  const written = await serveGraphql(located, router, { method, headers, body, hold });
  // The client waits for the rest until its own time limit.
  if (written.abort?.kind === "stall") hold?.pause();
  writeResponse(response, written);
}

async function serveFetch(
  handler: Handler,
  { request: incoming, response: outgoing, hold }: Received,
): Promise<void> {
  const request = toFetchRequest(incoming, outgoing);
  if (!request) {
    endWithError(outgoing, 400, "BAD_REQUEST", "invalid URL or method");
    return;
  }
  const response = await handler(request, hold);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  // An event stream may have nothing to send for long: its reader must learn at once that it is open.
  outgoing.flushHeaders();
  if (!response.body) outgoing.end();
  // A reader that disconnects ends the stream; that is no failure.
  else await pipeline(Readable.fromWeb(response.body as never), outgoing).catch(() => outgoing.destroy());
}

/** `null` if it cannot be a fetch Request (invalid URL, TRACE, CONNECT). */
function toFetchRequest(request: IncomingMessage, response: ServerResponse): Request | null {
  const { method = "GET", url = "/", headers } = request;
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  try {
    const bodyless = method === "GET" || method === "HEAD";
    // Joined, not resolved: a path that starts with two slashes would name another host.
    const absolute = url.startsWith("/") ? `http://${headers.host ?? "localhost"}${url}` : url;
    return new Request(absolute, {
      method,
      headers: Object.entries(headers).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value ?? ""]).map((item): [string, string] => [name, item]),
      ),
      signal: closed.signal,
      ...(bodyless ? {} : { body: bodyOf(request), duplex: "half" }),
    });
  } catch {
    // Both constructors throw a TypeError for input that they do not accept.
    return null;
  }
}

/** A handler that reads a part of it, or nothing, leaves the connection open: its response has yet to be sent. */
const bodyOf = (request: IncomingMessage) =>
  ReadableStream.from(request.iterator({ destroyOnReturn: false })) as globalThis.ReadableStream<Uint8Array>;

/** In the format of the path, so that a GraphQL client shows the message. */
function reject(response: ServerResponse, { code, message }: MockServerError, router: Router | null): void {
  const body = router ? { errors: [{ message, extensions: { code } }] } : { error: { code, message } };
  endWithJson(response, 403, body);
}

/** Last resort: a 500 without internals (T6). */
function failClosed(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else endWithError(response, 500, "INTERNAL", "Internal server error");
}

function endWithError(response: ServerResponse, status: number, code: string, message: string): void {
  endWithJson(response, status, { error: { code, message } });
}

function endWithJson(response: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": bytes.length,
    "x-content-type-options": "nosniff",
  });
  response.end(bytes);
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
