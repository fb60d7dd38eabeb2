import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ConnectionCutError, writeResponse } from "../faults/write-response.ts";
import { handleGraphql } from "../graphql/handle-graphql.ts";
import type { RequestBody } from "../graphql/request-context.ts";
import type { Router } from "../state/router.ts";
import { decodeBody, routerAt, type Service } from "./router.ts";

export interface HttpListener {
  /** For example `http://127.0.0.1:4010`. */
  readonly origin: string;
  /** Stops listening and cuts every open connection. */
  close(): Promise<void>;
}

export type HttpOptions = {
  readonly service: Service;
  readonly handler: (request: Request) => Promise<Response>;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
};

/** Addresses that mean "every one of this computer", and one that a client on it can call. */
const wildcards: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** @throws Error with the system's `code` (such as EADDRINUSE) when the port cannot be had */
export async function listenHttp(options: HttpOptions): Promise<HttpListener> {
  const server = createServer((request, response) => {
    serve(options, request, response).catch((error: unknown) => {
      if (error instanceof ConnectionCutError) request.socket.resetAndDestroy();
      else failClosed(response);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const reachable = wildcards[options.host] ?? options.host;
  const host = reachable.includes(":") ? `[${reachable}]` : reachable;
  return { origin: `http://${host}:${port}`, close: () => closeServer(server) };
}

async function serve(
  options: HttpOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url?.split("?", 1)[0] ?? "/";
  const router = routerAt(path);
  if (router) await serveGraphql(options.service, router, request, response);
  else await serveOther(options.handler, request, response);
}

// The hot path: no `Request`, no `Response`, whose making costs more than a small query.
async function serveGraphql(
  { worlds }: Service,
  router: Router,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request, worlds.current.settings.bounds.bodyBytesMax);
  const { method = "GET", headers } = request;
  const answer = await handleGraphql(worlds.current, router, { method, headers, body });
  writeResponse(response, answer);
}

/**
 * A body that is too long is read to its end without being kept: a client that is still sending would see
 * a broken connection instead of the answer. Past this many bytes it is cut off all the same.
 */
const discardedBytesMax = 64 * 1_048_576;

function readBody(request: IncomingMessage, bytesMax: number): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      else if (bytes > discardedBytesMax) request.destroy();
    });
    request.on("end", () =>
      resolve(bytes > bytesMax ? { problem: "too-large" } : decodeBody(joined(chunks))),
    );
    request.on("error", reject);
    request.on("close", () => reject(new Error("the request was aborted")));
  });
}

const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);

async function serveOther(
  handler: HttpOptions["handler"],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const given = toFetchRequest(request, response);
  if (!given) {
    response.writeHead(400, { "content-type": "application/json; charset=utf-8" });
    response.end(
      JSON.stringify({ error: { code: "BAD_REQUEST", message: "not a request this server serves" } }),
    );
    return;
  }
  const answer = await handler(given);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  // A stream of events may be silent for long: its reader must learn at once that it is open.
  response.flushHeaders();
  if (!answer.body) response.end();
  // A reader that goes away ends the stream; that is no failure.
  else await pipeline(Readable.fromWeb(answer.body as never), response).catch(() => response.destroy());
}

/** `null` for what `fetch` has no words for: a broken address, methods such as TRACE. */
function toFetchRequest(request: IncomingMessage, response: ServerResponse): Request | null {
  const { method = "GET", url = "/", headers } = request;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    const bodyless = method === "GET" || method === "HEAD";
    return new Request(new URL(url, `http://${headers.host ?? "localhost"}`), {
      method,
      headers: Object.entries(headers).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value ?? ""]).map((item): [string, string] => [name, item]),
      ),
      signal: gone.signal,
      ...(bodyless ? {} : { body: Readable.toWeb(request), duplex: "half" }),
    });
  } catch {
    // Both constructors throw a TypeError on what they cannot take; there is nothing to find out.
    return null;
  }
}

/** For what nobody foresaw: no word about the inside leaves the server (T6). */
function failClosed(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else {
    response.writeHead(500, { "content-type": "application/json; charset=utf-8" });
    response.end(JSON.stringify({ error: { code: "INTERNAL", message: "Internal server error" } }));
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
