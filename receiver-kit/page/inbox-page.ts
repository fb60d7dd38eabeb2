import type { IncomingMessage, ServerResponse } from "node:http";
import { readBytes } from "@workspace-tasks/kernel/bytes.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../errors.ts";
import { endFailed } from "../http/send-response.ts";
import { parseOptions } from "../options.ts";
import { partsOf, type Receiver } from "../receiver.ts";
import { readPageFiles } from "./page-files.ts";
import { createPageServer, type PageSettings } from "./page-server.ts";

/** The name of the person who looks, or `true`; anything else: not allowed. */
export type InboxPageAuthorize = (
  request: IncomingMessage | Request,
) => string | boolean | null | undefined | Promise<string | boolean | null | undefined>;

export interface InboxPageOptions {
  /**
   * Lets a request of the application's own login see the page: returns the name of the person, which is logged with what the
   * person changes, or `null`. Gets the request of Node, or the `Request` of `fetch`. It has 20 s, and 15 s of an action.
   *
   * `this-computer` lets everyone in who is at this computer, under the name localhost: never behind a proxy, whose requests all
   * come from this computer.
   */
  readonly authorize: InboxPageAuthorize | "this-computer";
  /** Nothing can be replayed or discarded. Default false. */
  readonly readOnly?: boolean | undefined;
  /** Shows the bodies of events, which hold tax data. Default false. */
  readonly showBodies?: boolean | undefined;
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
});

/**
 * A page on which an operator sees what waits in an inbox, what died of which error and since when, and replays or discards
 * exactly that. Mount it behind the application's login. It reads nothing while no one looks.
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

type Shown = Pick<PageSettings, "inbox" | "open" | "stats" | "clock" | "logger">;

/** @param shown the inbox; the command has no receiver */
export function createInboxPage(shown: Shown, options: InboxPageOptions): InboxPage {
  const { authorize, ...settings } = parseOptions("inboxPage", optionsSchema, options);
  const files = readFiles();
  const respond = createPageServer({
    ...shown,
    ...settings,
    files,
    isAuthorized: typeof authorize === "function",
  });
  const ask = (request: IncomingMessage | Request) => typeof authorize === "function" && authorize(request);
  const page = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => {
    const { originalUrl } = request as { originalUrl?: string };
    respond({
      url: originalUrl ?? request.url ?? "/",
      method: request.method ?? "GET",
      header: (name) => request.headers[name]?.toString(),
      remoteAddress: request.socket.remoteAddress,
      readBody: (bytesMax) => collectNode(request, bytesMax),
      authorize: () => ask(request),
    })
      .then(({ status, headers, body }) => {
        if (response.headersSent || response.destroyed) return;
        // What is left of a body is not read.
        const closing = request.complete || request.httpVersionMajor > 1 ? {} : { connection: "close" };
        response.writeHead(status, { ...headers, ...closing });
        response.end(request.method === "HEAD" ? undefined : body);
      })
      .catch((error: unknown) => endFailed(error, response, next));
  };

  return Object.assign(page, {
    async fetch(request: Request) {
      const { status, headers, body } = await respond({
        url: request.url,
        method: request.method,
        header: (name) => request.headers.get(name) ?? undefined,
        remoteAddress: undefined,
        readBody: (bytesMax) => readBytes(request.body, bytesMax),
        authorize: () => ask(request),
      });
      return new Response(request.method === "HEAD" ? null : body, { status, headers });
    },
  });
}

/** `express.json()` may have read it. Ending the iteration of a request would close its connection, before the response. */
async function collectNode(request: IncomingMessage, bytesMax: number): Promise<Uint8Array | null> {
  const { body } = request as { body?: unknown };
  if (request.readableEnded && isPlainObject(body)) return Buffer.from(JSON.stringify(body));
  return readBytes(request.iterator({ destroyOnReturn: false }), bytesMax);
}

function readFiles(): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  const files = readPageFiles();
  if (files.size > 0) return files;
  throw new ReceiverError(
    "CONFIGURATION_INVALID",
    "inboxPage: expected the files of the page; in a clone, run npm run build",
  );
}
