import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ReadableStream } from "node:stream/web";
import { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { hostWithoutPort, isLoopbackHost, normaliseHost } from "@workspace-tasks/kernel/host.ts";
import type { Listener } from "../create-mock.ts";
import { MockServerError } from "../errors.ts";
import { ConnectionCutError, type WireResponse } from "../faults.ts";
import { decodeBody } from "../graphql/request.ts";
import {
  clocksFor,
  type Handler,
  holdRequest,
  type Located,
  locate,
  type RequestHold,
  routerAt,
  type Service,
  serveGraphql,
} from "../http/router.ts";
import type { Router } from "../state/fault.ts";

interface HttpListenerOptions {
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

/** Rejects a request in the format of its path, so that a GraphQL client shows the message. */
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

// Requests of clients in this process to a listening mock, from the moment a client creates one. Before the mock receives
// it, and after it has responded, only the client knows of it. `fetch`, the `undici` package and `node:http` report their
// requests on diagnostics channels. Only a mock with a virtual clock listens to them.

interface ClientRequests {
  /** The hold of the request that a client in this process sends from this port. */
  sentFrom(port: number | undefined): RequestHold | undefined;
  stop(): void;
}

interface ClientRequestsOptions {
  /** `http://127.0.0.1:4010`. */
  readonly origin: string;
  /** The clocks that wait for a request to this path; none for one that moves time. */
  clocksOf(path: string, authorization: string | undefined): Iterable<Clock>;
}

/** What `undici` reports. */
interface UndiciRequest {
  readonly origin: string | URL;
  readonly path: string;
  readonly method: string;
  readonly headers: string | readonly (string | Buffer)[];
}

function watchClientRequests({ origin, clocksOf }: ClientRequestsOptions): ClientRequests {
  const mock = new URL(origin);
  const holds = new WeakMap<object, RequestHold>();
  const byPort = new Map<number, RequestHold>();

  const isForMock = (url: URL) =>
    url.port === mock.port && (url.hostname === mock.hostname || isLoopbackHost(url.hostname));

  const begin = (request: object, url: URL, method: string, authorization: string | undefined) => {
    if (!isForMock(url)) return;
    const what = `${method} ${url.pathname} of a client in this process`;
    holds.set(request, holdRequest(clocksOf(url.pathname, authorization), { what, hasSequel: true }));
  };
  const link = (request: object, port: number | undefined) => {
    const hold = holds.get(request);
    if (hold && port !== undefined) byPort.set(port, hold);
  };
  const end = (request: object) => {
    const hold = holds.get(request);
    if (!hold) return;
    hold.release();
    holds.delete(request);
    for (const [port, other] of byPort) if (other === hold) byPort.delete(port);
  };

  const listeners: Readonly<Record<string, (message: never) => void>> = {
    "undici:request:create": ({ request }: { request: UndiciRequest }) => {
      const { origin, path, method, headers } = request;
      begin(request, new URL(path, origin), method, authorizationOf(headers));
    },
    "undici:client:sendHeaders": ({ request, socket }: { request: object; socket: Socket }) =>
      link(request, socket.localPort),
    "undici:request:trailers": ({ request }: { request: object }) => end(request),
    "undici:request:error": ({ request }: { request: object }) => end(request),
    "http.client.request.start": ({ request }: { request: ClientRequest }) => {
      const url = urlOf(request);
      const authorization = request.getHeader("authorization");
      if (url)
        begin(request, url, request.method, authorization === undefined ? undefined : String(authorization));
      if (!holds.has(request)) return;
      request.once("close", () => end(request));
      request.once("socket", (socket) => {
        if (socket.localPort === undefined) socket.once("connect", () => link(request, socket.localPort));
        else link(request, socket.localPort);
      });
    },
  };
  for (const [channel, listener] of Object.entries(listeners)) subscribe(channel, listener as never);

  return {
    sentFrom: (port) => (port === undefined ? undefined : byPort.get(port)),
    stop() {
      for (const [channel, listener] of Object.entries(listeners)) unsubscribe(channel, listener as never);
    },
  };
}

/** Headers as `undici` has them: lines of text, or names and values in turn. */
function authorizationOf(headers: UndiciRequest["headers"]): string | undefined {
  if (typeof headers === "string") return /^authorization: *(.*?)\r?$/im.exec(headers)?.[1];
  const index = headers.findIndex(
    (name, at) => at % 2 === 0 && String(name).toLowerCase() === "authorization",
  );
  return index === -1 ? undefined : String(headers[index + 1]);
}

function urlOf(request: ClientRequest): URL | null {
  const url = `${request.protocol}//${request.getHeader("host") ?? request.host}`;
  return URL.canParse(request.path, url) ? new URL(request.path, url) : null;
}

// A web page that a developer visits can send requests to loopback addresses. By DNS rebinding its own host name
// resolves to one, and then it could read the responses too. So a listening socket serves requests under the names of
// this computer only, and only pages of its own, on every path. Requests of programs carry neither `Origin` nor
// `Sec-Fetch-Site`; a page can change neither of them, nor `Host`.

interface RequestGuardOptions {
  /** The address that the mock was told to listen on. */
  readonly host: string;
  /** Host names besides the loopback ones. */
  readonly hostsAllowed: readonly string[];
  /** Origins of pages besides the mock's own. */
  readonly originsAllowed: readonly string[];
}

interface RequestGuard {
  /** Why the request is not served, if it is not. */
  rejectionOf(request: IncomingMessage): MockServerError | null;
  /** The `Origin` of an allowed page that is not the mock's own, if the request has one. */
  allowedOrigin(request: IncomingMessage): string | null;
}

function createRequestGuard(options: RequestGuardOptions): RequestGuard {
  const hosts = new Set([options.host, ...options.hostsAllowed].map((name) => normaliseHost(name)));
  const origins = new Set(options.originsAllowed);

  const allowedOrigin = ({ headers: { origin } }: IncomingMessage) =>
    origin !== undefined && origins.has(origin) ? origin : null;

  return {
    allowedOrigin,
    rejectionOf(request) {
      const { host = "", origin, "sec-fetch-site": site } = request.headers;
      const name = hostWithoutPort(host);
      if (name === null || !(isLoopbackHost(name) || hosts.has(name) || isAddressOf(request, name))) {
        const shown = JSON.stringify(host.slice(0, 100));
        return new MockServerError(
          "FOREIGN_HOST",
          `the mock is not served under the Host ${shown}; allow the name with --allow-host or hostsAllowed`,
        );
      }
      if (allowedOrigin(request) !== null) return null;
      const isForeign = origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
      const isForeignSite = site !== undefined && site !== "none" && site !== "same-origin";
      if (!isForeign && !(isForeignSite && !opensInspector(request))) return null;
      return new MockServerError(
        "FOREIGN_ORIGIN",
        "the mock is not served to pages of another origin; allow one with --allow-origin or originsAllowed",
      );
    },
  };
}

/** A page cannot make an address resolve to another one, so the address of the connection itself is no risk. */
const isAddressOf = ({ socket }: IncomingMessage, name: string) =>
  socket.localAddress?.replace(/^::ffff:/, "") === name;

/** A link on another site may open the inspector, or `/`, which leads there: its page is a constant and contains no data. */
const opensInspector = ({ method, url, headers }: IncomingMessage) =>
  method === "GET" &&
  /^(?:\/w\/[^/]+)?\/(?:_mock\/?)?$/.test(url ?? "") &&
  headers["sec-fetch-dest"] === "document";

/**
 * A body that is too long is read to its end without being kept: a client that is still sending would get a reset
 * connection instead of the response. Past this many bytes the connection is closed anyway.
 */
const discardedBytesMax = 64 * 1_048_576;

/**
 * Reads what is left of a body after the response, without keeping it: the next request on the connection comes behind it.
 * As Node does with a body of which nothing was read.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.readableEnded || request.destroyed) return;
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > discardedBytesMax) request.destroy();
  });
  // The connection was lost.
  request.on("error", () => undefined);
  request.resume();
}

/** Reads the body of a request on a socket; `null` past `bytesMax`. Events cost less than async iteration. */
function readIncomingBody(request: IncomingMessage, bytesMax: number): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    const body = new ByteBuffer();
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) body.append(chunk);
      else if (bytes > discardedBytesMax) request.destroy();
    });
    request.on("end", () => resolve(bytes > bytesMax ? null : body.toBytes()));
    request.on("error", reject);
    request.on("close", () => {
      if (!request.readableEnded) reject(new Error("the request was aborted"));
    });
  });
}

/** Writes a response to a socket, broken off as its `abort` says. */
function writeResponse(outgoing: ServerResponse, response: WireResponse): void {
  const { abort } = response;
  const { socket } = outgoing;
  if (abort?.kind === "cut" && abort.afterBytes === null) {
    socket?.resetAndDestroy();
    return;
  }
  const { body, status, headers } = response;
  outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  // As text: Node then sends it together with the head, in one piece.
  if (!abort) outgoing.end(body);
  else if (abort.kind === "stall") outgoing.flushHeaders();
  // `destroy` after the bytes are flushed: a reset could overtake them in the client's kernel.
  else outgoing.write(Buffer.from(body).subarray(0, abort.afterBytes ?? 0), () => socket?.destroy());
}

const methods = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Lets the page read this response, or send the request that it asks for. */
function allowPage({ headers }: IncomingMessage, response: ServerResponse, origin: string): void {
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "origin");
  response.setHeader("access-control-expose-headers", "*");
  const requestHeaders = headers["access-control-request-headers"];
  if (requestHeaders !== undefined) response.setHeader("access-control-allow-headers", requestHeaders);
  response.setHeader("access-control-allow-methods", methods);
}

/** Whether a browser asks for permission before it sends the page's request. */
const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
