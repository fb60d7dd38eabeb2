import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { writeFaultyAnswer } from "./faults/faulty-answer.ts";
import { answerGraphql, type RequestBody } from "./graphql/answer-graphql.ts";
import type { Router } from "./graphql/router-schema.ts";
import { decodeBody, routerAt, type Service } from "./handler.ts";

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

/** @throws Error with the system's `code` (such as EADDRINUSE) when the port cannot be had */
export async function listenHttp(options: HttpOptions): Promise<HttpListener> {
  const server = createServer((request, response) => {
    serve(options, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
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
  const answer = await answerGraphql(worlds.current, router, { method, headers, body });
  // What is left of a body that was too long will not be read.
  if (typeof body !== "string" && body.problem === "too-large") response.setHeader("connection", "close");
  writeFaultyAnswer(response, answer);
}

function readBody(request: IncomingMessage, bytesMax: number): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      else {
        request.pause();
        resolve({ problem: "too-large" });
      }
    });
    request.once("end", () =>
      resolve(decodeBody(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))),
    );
    request.once("error", reject);
    request.once("close", () => reject(new Error("the request was aborted")));
  });
}

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

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
