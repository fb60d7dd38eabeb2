import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../errors.ts";
import { parseOptions } from "../options.ts";
import { partsOf, type Receiver } from "../receiver.ts";
import { createPageServer, type PageRequest, type PageResponse, type PageSettings } from "./page-server.ts";

/** The name of the person who looks, or `true`; anything else: not allowed. */
export type InboxPageAuthorize = (
  request: IncomingMessage | Request,
) => string | boolean | null | undefined | Promise<string | boolean | null | undefined>;

export interface InboxPageOptions {
  /**
   * Lets a request of the application's own login see the page: returns the name of the person, which is logged with what the
   * person changes, or `null`. Gets the request of Node, or the `Request` of `fetch`. It has 20 s.
   *
   * `this-computer` lets everyone in who is at this computer, under the name localhost: never behind a proxy, whose requests all
   * come from this computer.
   */
  readonly authorize: InboxPageAuthorize | "this-computer";
  /** Nothing can be replayed or discarded. Default false. */
  readonly readOnly?: boolean | undefined;
  /** Shows the bodies of events, which hold tax data. Default false. */
  readonly showBodies?: boolean | undefined;
  /** Where the page is for `fetch`, such as `/inbox`; Express knows it. Default `/`. */
  readonly path?: string | undefined;
}

/** A middleware of Express and Connect, a listener of `node:http`, and, as `fetch`, a handler of other frameworks. */
export interface InboxPage {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void;
  /** Responds to a fetch `Request`; `authorize` must be a function, as a `Request` does not say who sent it. */
  fetch(request: Request): Promise<Response>;
}

const authorizeOption = s.refine<InboxPageOptions["authorize"]>(
  "a function, or this-computer",
  (given) => typeof given === "function" || given === "this-computer",
);

const optionsSchema = s.strictOptions<InboxPageOptions>()({
  authorize: authorizeOption,
  readOnly: s.withDefault(s.boolean, false),
  showBodies: s.withDefault(s.boolean, false),
  path: s.withDefault(s.stringLike(/^\/[\w./~-]*$/, "a path such as /inbox"), "/"),
});

/**
 * A page on which an operator sees what waits in an inbox, what died of which error and since when, and replays or discards
 * exactly that. Mount it behind the application's login. It reads nothing while nobody looks.
 *
 * @example
 * ```ts
 * app.use("/inbox", inboxPage(receiver, { authorize: (request) => sessionOf(request)?.email }));
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` for wrong options and without `authorize`
 */
export function inboxPage<Transaction>(
  receiver: Receiver<Transaction>,
  options: InboxPageOptions,
): InboxPage {
  const parts = partsOf(receiver);
  if (!parts)
    throw new ReceiverError("CONFIGURATION_INVALID", "inboxPage: expected a receiver of createReceiver");
  return createInboxPage({ ...parts, stats: () => receiver.stats() }, options);
}

type Shown = Pick<PageSettings, "inbox" | "open" | "source" | "stats" | "clock" | "logger">;

/** @param shown the inbox; the command has no receiver */
export function createInboxPage(shown: Shown, options: InboxPageOptions): InboxPage {
  const { authorize, path, ...settings } = parseOptions("inboxPage", optionsSchema, options);
  const files = readFiles();
  const respond = createPageServer({
    ...shown,
    ...settings,
    files,
    isAuthorized: typeof authorize === "function",
  });
  const ask = (request: IncomingMessage | Request) => typeof authorize === "function" && authorize(request);
  const place = path.replace(/\/$/, "");
  const page = (request: IncomingMessage, response: ServerResponse) => {
    const { originalUrl, baseUrl = place } = request as { originalUrl?: string; baseUrl?: string };
    const url = new URL(originalUrl ?? request.url ?? "/", "http://page");
    void respondBelow(baseUrl, url, {
      method: request.method ?? "GET",
      header: (name) => request.headers[name]?.toString(),
      remoteAddress: request.socket.remoteAddress,
      readBody: (bytesMax) => collect(request, bytesMax),
      authorize: () => ask(request),
    }).then(({ status, headers, body }) => {
      if (response.headersSent || response.destroyed) return;
      response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
    });
  };

  const respondBelow = async (
    base: string,
    url: URL,
    request: Omit<PageRequest, "path" | "query">,
  ): Promise<PageResponse> => {
    // The page refers to its files by relative addresses.
    if (url.pathname === base && base !== "") return redirect(`${base.slice(base.lastIndexOf("/") + 1)}/`);
    const below = url.pathname.startsWith(`${base}/`)
      ? url.pathname.slice(base.length + 1)
      : url.pathname.slice(1);
    return respond({ ...request, path: below, query: url.searchParams });
  };

  return Object.assign(page, {
    async fetch(request: Request) {
      const { status, headers, body } = await respondBelow(place, new URL(request.url), {
        method: request.method,
        header: (name) => request.headers.get(name) ?? undefined,
        remoteAddress: undefined,
        readBody: (bytesMax) => collect(request.body ?? [], bytesMax),
        authorize: () => ask(request),
      });
      return new Response(request.method === "HEAD" ? null : body, { status, headers });
    },
  });
}

const redirect = (location: string): PageResponse => ({
  status: 302,
  headers: { location, "cache-control": "no-store" },
  body: "",
});

/** `undefined` for more bytes than the limit. */
async function collect(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of stream) {
    length += part.byteLength;
    if (length > bytesMax) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The build of the page, by path; resolved from the package, so that sources and build find it in the same place. */
function readFiles(): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  const manifest = createRequire(import.meta.url).resolve("@workspace-tasks/receiver-kit/package.json");
  const folder = join(dirname(manifest), "dist/page");
  if (!existsSync(join(folder, "assets"))) return new Map();
  const assets = readdirSync(join(folder, "assets")).map((name) => `assets/${name}`);
  return new Map(
    ["index.html", ...assets].map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]),
  );
}
