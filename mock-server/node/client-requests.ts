// Requests of clients in this process to a listening mock, from the moment a client creates one. Before the mock receives
// it, and after it has responded, only the client knows of it. `fetch`, the `undici` package and `node:http` report their
// requests on diagnostics channels. Only a mock with a virtual clock listens to them.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import { holdRequest, type RequestHold } from "../http/request-hold.ts";

export interface ClientRequests {
  /** The hold of the request that a client in this process sends from this port. */
  sentFrom(port: number | undefined): RequestHold | undefined;
  stop(): void;
}

export interface ClientRequestsOptions {
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

export function watchClientRequests({ origin, clocksOf }: ClientRequestsOptions): ClientRequests {
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
