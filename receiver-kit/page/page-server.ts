// The page of an inbox as a function of a request: who may see it, which answers there are, and what is changed.
//
// A page of another origin can send requests here with the visitor's cookies, and by DNS rebinding its own name may lead here.
// So a request of a browser must be of this origin, and an action also needs a token that only this page knows.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { hostWithoutPort, isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { pageHeaders, typeOfPageFile } from "@workspace-tasks/kernel/page-headers.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { type InboxRowReference, type InboxRowState, type InboxStore, rowStates } from "../inbox/inbox.ts";
import type { ReceiverLogger } from "../logger.ts";
import { discardRow, replayRow } from "../maintenance/replay.ts";
import { changeRows, findRows, readTime } from "../maintenance/row-filter.ts";
import type { ReceiverStats } from "../stats/receiver-stats.ts";
import { sharedRead } from "../stats/shared-read.ts";
import type { ActionResult, Overview } from "./contract.ts";
import * as reads from "./page-reads.ts";

export interface PageRequest {
  readonly method: string;
  /** A path, or a whole URL; with what the page is mounted on, or without. */
  readonly url: string;
  header(name: string): string | undefined;
  /** The address of the peer; `undefined` where it is not known. */
  readonly remoteAddress: string | undefined;
  /** Reads a body of at most `bytesMax`; `null` when it is larger. */
  readBody(bytesMax: number): Promise<Uint8Array | null>;
  /** Who looks, a name or `true`; anything else may not. */
  authorize(): unknown;
}

export interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export interface PageSettings {
  readonly inbox: InboxStore;
  readonly open: () => Promise<void>;
  readonly stats: (() => Promise<ReceiverStats>) | undefined;
  readonly clock: Clock;
  readonly logger: ReceiverLogger;
  readonly isAuthorized: boolean;
  readonly readOnly: boolean;
  readonly showBodies: boolean;
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

class PageError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const invalid = (message: string) => new PageError(400, "ARGUMENT_INVALID", message);

const timeout = (detail: string) => new PageError(503, "TIMEOUT", `no answer in time: ${detail}`);

const readOnly = () => new PageError(403, "READ_ONLY", "the page is read-only: nothing was changed");

const answerMs = 20_000;
const writeAgainMs = 60_000;
const bodyBytesMax = 65_536;
/** Events that one request changes. */
const changedMax = 10_000;

export function createPageServer(settings: PageSettings): (request: PageRequest) => Promise<PageResponse> {
  const { inbox, clock, logger } = settings;
  const readNumbers = sharedRead(
    async () => reads.readOverview(inbox, clock.now(), await settings.stats?.()),
    clock,
  );
  const readErrors = sharedRead(() => reads.readErrors(inbox), clock);
  let secret: Promise<string | undefined> | undefined;
  /** An inbox that could not be written is tried again then. */
  let writesAgainAtMs = Number.POSITIVE_INFINITY;

  /** All processes of the inbox have the same secret: the next request may reach another one. */
  async function readSecret(): Promise<string | undefined> {
    const { marks } = await inbox.readMarks(everySource);
    if (marks[secretMark]) return marks[secretMark];
    try {
      return await inbox.keepMark(everySource, secretMark, randomBytes(32).toString("base64url"));
    } catch (error) {
      logger.warn({ err: error }, "the page of the inbox is read-only: its token could not be stored");
      writesAgainAtMs = clock.now() + writeAgainMs;
      return undefined;
    }
  }

  /** `undefined` where the inbox can be read and not written, as by a role that may only read. */
  async function tokenOf(actor: string | null): Promise<string | undefined> {
    if (clock.now() >= writesAgainAtMs) {
      writesAgainAtMs = Number.POSITIVE_INFINITY;
      secret = undefined;
    }
    secret ??= readSecret();
    const key = await secret.catch((error: unknown) => {
      secret = undefined;
      throw error;
    });
    return key && createHmac("sha256", key).update(JSON.stringify(actor)).digest("base64url");
  }

  async function requireToken(given: string, actor: string | null): Promise<void> {
    let token = await tokenOf(actor);
    if (token !== undefined && !isEqual(given, token)) {
      // A database that was restored may have another secret than this process has read.
      secret = undefined;
      token = await tokenOf(actor);
    }
    if (token === undefined) throw readOnly();
    if (!isEqual(given, token))
      throw new PageError(403, "TOKEN_INVALID", "expected the token of this page: load it again");
  }

  async function overview(actor: string | null): Promise<Overview> {
    const numbers = await readNumbers();
    const token = settings.readOnly ? undefined : await tokenOf(actor);
    return { ...numbers, readOnly: token === undefined, actor, token: token ?? "" };
  }

  async function read(path: string, query: URLSearchParams, actor: string | null): Promise<object> {
    switch (path) {
      case "api/overview":
        return overview(actor);
      case "api/errors":
        return readErrors();
      case "api/events":
        return reads.readEvents(inbox, toFilter(query, clock.now(), "iterator", "limit"), {
          beforeSeq: wholeNumber(query, "iterator", Number.MAX_SAFE_INTEGER),
          limit: wholeNumber(query, "limit", 200) ?? 50,
        });
      case "api/task":
        return reads.readTask(inbox, required(query, "task"));
      case "api/event": {
        const row = await inbox.get({ source: required(query, "source"), id: required(query, "id") });
        if (row) return reads.toDetail(row, settings.showBodies);
        throw new PageError(
          404,
          "NOT_FOUND",
          "there is no such event in the inbox; it may have been removed by age",
        );
      }
      case "api/count":
        return reads.preview(inbox, filterOf(actionOf(required(query, "action")), query, clock.now()));
    }
    throw new PageError(404, "NOT_FOUND", "there is no such address");
  }

  /** @param deadline aborts while there is time left to say what was changed */
  async function change(
    action: ActionName,
    given: unknown,
    actor: string | null,
    deadline: AbortSignal,
  ): Promise<ActionResult> {
    if (deadline.aborted) throw timeout("login and body took too long; nothing was changed");
    const { source, id, filter, beforeSeq } = given as Readonly<Record<string, unknown>>;
    const changeOne = (row: InboxRowReference): Promise<string> =>
      action === "replay" ? replayRow(inbox, row, clock.now()) : discardRow(inbox, row);
    let counts: ActionResult["counts"];
    let isPartial = false;
    if (typeof source === "string" && typeof id === "string") {
      counts = { [await changeOne({ source, id })]: 1 };
    } else {
      const texts = isPlainObject(filter) ? Object.entries(filter) : undefined;
      const isText = texts?.every((entry): entry is [string, string] => typeof entry[1] === "string");
      if (!texts || !isText || !Number.isSafeInteger(beforeSeq) || source !== undefined || id !== undefined)
        throw invalid("expected source and id, or filter and beforeSeq of api/count");
      const { source: of, ...wanted } = filterOf(action, new URLSearchParams(texts), clock.now());
      const full = new AbortController();
      const stop = AbortSignal.any([deadline, full.signal]);
      let left = changedMax;
      const counted = (row: InboxRowReference) => {
        if (--left <= 0) full.abort();
        return changeOne(row);
      };
      const steps = findRows(inbox, wanted, { source: of, beforeSeq: Number(beforeSeq), stepRows: 1_000 });
      ({ counts } = await changeRows(steps, counted, stop));
      isPartial = stop.aborted;
    }
    logger.warn(
      { action, actor, counts, ...(id === undefined ? { filter } : { source, id }) },
      "changed by the page",
    );
    return { counts, isPartial };
  }

  async function answer(request: PageRequest, deadline: AbortSignal): Promise<PageResponse> {
    const { method } = request;
    const { path, query, lastName } = placeOf(request.url);
    requireOwnOrigin(request, path);
    const actor = await actorOf(request);
    if (method === "GET" || method === "HEAD") {
      if (path === "") return indexOf(lastName);
      if (!path.startsWith("api/")) return fileOf(path);
      await settings.open();
      return json(200, await read(path, query, actor));
    }
    const action = method === "POST" ? actionNames.find((name) => path === `api/${name}`) : undefined;
    if (!action) throw new PageError(405, "METHOD_NOT_ALLOWED", "expected GET, or POST of an action");
    if (settings.readOnly) throw readOnly();
    await settings.open();
    await requireToken(request.header("x-page-token") ?? "", actor);
    return json(200, await change(action, await readJsonBody(request), actor, deadline));
  }

  async function actorOf(request: PageRequest): Promise<string | null> {
    if (!settings.isAuthorized) {
      requireThisComputer(request);
      return null;
    }
    const actor = await request.authorize();
    if (typeof actor === "string" && actor !== "") return actor.slice(0, 200);
    if (actor === true) return null;
    throw new PageError(401, "UNAUTHORIZED", "the application's login did not let you see this page");
  }

  /**
   * The page has its files below it. Without a slash at its end they are beside it, and some frameworks remove that slash, so it
   * is no redirect.
   */
  function indexOf(lastName: string | undefined): PageResponse {
    const index = fileOf("index.html");
    if (lastName === undefined) return index;
    const text = Buffer.from(index.body).toString();
    return { ...index, body: text.replaceAll('"./assets/', `"./${lastName}/assets/`) };
  }

  function fileOf(name: string): PageResponse {
    const file = settings.files.get(name);
    if (!file) throw new PageError(404, "NOT_FOUND", "there is no such file");
    // Names in assets/ carry a hash of the content.
    const cache = name.startsWith("assets/") ? "private, max-age=31536000, immutable" : "no-store";
    return {
      status: 200,
      headers: { ...pageHeaders, "content-type": typeOfPageFile(name), "cache-control": cache },
      body: file,
    };
  }

  return async (request) => {
    const deadline = new AbortController();
    const timer = clock.schedule(answerMs - 5_000, () => deadline.abort());
    try {
      return await withTimeout(answer(request, deadline.signal), answerMs, clock, () =>
        timeout(`${answerMs / 1_000} s have passed; the inbox may be busy`),
      );
    } catch (error) {
      if (error instanceof PageError)
        return json(error.status, { error: { code: error.code, message: error.message } });
      logger.error({ err: error, url: request.url }, "the page of the inbox failed");
      const code = isError(error) && "code" in error ? String(error.code) : "INTERNAL";
      const message = "the inbox could not be read or changed; the log of the receiver has the cause";
      return json(code === "INBOX_UNAVAILABLE" ? 503 : 500, { error: { code, message } });
    } finally {
      timer();
    }
  };
}

const actionNames = ["replay", "discard"] as const;
type ActionName = (typeof actionNames)[number];

const everySource = "";
const secretMark = "page-secret";

const json = (status: number, value: object): PageResponse => ({
  status,
  headers: { ...pageHeaders, "content-type": "application/json", "cache-control": "no-store" },
  body: JSON.stringify(value),
});

/** Wherever it is mounted, and whether a framework removes that from the address or not. */
function placeOf(url: string) {
  const base = "http://page.invalid";
  if (!URL.canParse(url, base)) throw invalid("expected an address");
  const { pathname, searchParams } = new URL(url, base);
  const [, path = ""] = /\/((?:api|assets)\/[^/]*)$/.exec(pathname) ?? [];
  const [, lastName] = /\/([\w.~%-]+)$/.exec(pathname) ?? [];
  return { path, query: searchParams, lastName };
}

/**
 * Programs send neither header; a page can change neither. A link on another site may open the page, which is a constant. A proxy
 * may give another `Host`; the browser itself says that it is the same origin.
 */
function requireOwnOrigin({ method, header }: PageRequest, path: string): void {
  const [origin, site, host] = [header("origin"), header("sec-fetch-site"), header("host")];
  if (site === "same-origin") return;
  const isForeign = origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
  const isForeignSite = site !== undefined && site !== "none";
  const isOpened = method === "GET" && path === "" && header("sec-fetch-dest") === "document";
  if (isForeign || (isForeignSite && !isOpened))
    throw new PageError(
      403,
      "FOREIGN_ORIGIN",
      "pages of another origin get nothing from the page of an inbox",
    );
}

function requireThisComputer({ remoteAddress, header }: PageRequest): void {
  const peer = remoteAddress?.replace(/^::ffff:/, "");
  const name = hostWithoutPort(header("host") ?? "") ?? "";
  const isProxied = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"].some(
    (each) => header(each) !== undefined,
  );
  if (peer !== undefined && isLoopbackHost(peer) && isLoopbackHost(name) && !isProxied) return;
  throw new PageError(
    403,
    "FOREIGN_COMPUTER",
    "this page of an inbox is served to this computer alone, under localhost, and not through a proxy",
  );
}

async function readJsonBody(request: PageRequest): Promise<object> {
  if (!/^application\/json\b/i.test(request.header("content-type") ?? ""))
    throw new PageError(415, "MEDIA_TYPE", "expected application/json");
  const bytes = await request.readBody(bodyBytesMax);
  if (!bytes) throw new PageError(413, "BODY_TOO_LARGE", `expected at most ${bodyBytesMax} bytes`);
  const value = jsonOrUndefined(Buffer.from(bytes).toString());
  if (value !== null && typeof value === "object") return value;
  throw invalid("expected a JSON object");
}

function isEqual(given: string, expected = ""): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  if (b.length === 0) return false;
  return a.length === b.length && timingSafeEqual(a, b);
}

function actionOf(given: string): ActionName {
  const action = actionNames.find((name) => name === given);
  if (action) return action;
  throw invalid("action: expected replay or discard");
}

/** Only of events that failed or were discarded: what was handled is handled again one by one. Without states failed ones. */
function filterOf(action: ActionName, query: URLSearchParams, nowMs: number): reads.FilterWithSource {
  const { states = ["dead", "quarantined"], ...filter } = toFilter(query, nowMs, "action");
  const changeable = action === "replay" ? ["dead", "quarantined", "discarded"] : ["dead", "quarantined"];
  return { ...filter, states: states.filter((state) => changeable.includes(state)) };
}

const filterNames = ["state", "event", "task", "client", "error", "source", "since", "until"];

/** The filters of the command `list`, as texts. A name that is not known would be no filter, and an action one of all events. */
function toFilter(
  query: URLSearchParams,
  nowMs: number,
  ...others: readonly string[]
): reads.FilterWithSource {
  const unknownName = [...query.keys()].find((name) => !filterNames.includes(name) && !others.includes(name));
  if (unknownName !== undefined) throw invalid(`expected the filters ${filterNames.join(", ")}`);
  const text = (name: string) => textOf(query, name);
  const list = (name: string) => text(name)?.split(",").filter(Boolean);
  const timeMs = (name: string) => {
    const given = text(name);
    if (given === undefined) return undefined;
    const found = readTime(given, nowMs) ?? Date.parse(given);
    if (Number.isNaN(found)) throw invalid(`${name}: expected a time such as 2h, 02:00 or 2026-03-01T02:00Z`);
    return found;
  };
  const states = list("state");
  const unknown = states?.find((state) => !rowStates.some((known) => known === state));
  if (unknown !== undefined) throw invalid(`state: expected ${rowStates.join(", ")}`);
  return {
    states: states as readonly InboxRowState[] | undefined,
    events: list("event"),
    task: text("task"),
    client: text("client"),
    error: text("error"),
    source: text("source"),
    sinceMs: timeMs("since"),
    untilMs: timeMs("until"),
  };
}

function required(query: URLSearchParams, name: string): string {
  const given = textOf(query, name);
  if (given === undefined) throw invalid(`${name}: expected a text`);
  return given;
}

/** `undefined` for one that is absent or empty. */
function textOf(query: URLSearchParams, name: string): string | undefined {
  const given = query.get(name);
  if (given?.includes("\0") || (given?.length ?? 0) > 1_000)
    throw invalid(`${name}: expected a shorter text`);
  return given || undefined;
}

function wholeNumber(query: URLSearchParams, name: string, max: number): number | undefined {
  const given = query.get(name);
  if (given === null || given === "") return undefined;
  const number = Number(given);
  if (Number.isSafeInteger(number) && number >= 1 && number <= max) return number;
  throw invalid(`${name}: expected a whole number from 1 to ${max}`);
}
