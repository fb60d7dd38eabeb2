// The page's server on each inbox: what each route answers, who may see it, and what an attacker gets.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import { createReceiver, NonRetryableError, ReceiverError } from "@workspace-tasks/receiver-kit";
import { type InboxPageOptions, inboxPage } from "@workspace-tasks/receiver-kit/page";
import express from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InboxMarks, InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import type * as contract from "../../../receiver-kit/page/contract.ts";
import { createInboxPage } from "../../../receiver-kit/page/inbox-page.ts";
import { runningAt } from "../../support/inbox-rows.ts";
import { memoryInbox, postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import { type ListeningServer, listen } from "../../support/listen.ts";
import type { PostgresDatabase } from "../../support/postgres.ts";
import { requestBytes, sendRaw } from "../../support/raw-http.ts";
import { completedEvent, sampleEvent } from "../../support/sample-event.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { secretA } from "../../support/signed-delivery.ts";
import { hasPostgres } from "../../support/with-postgres.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";

const script = "<script>alert(1)</script>";
let folder: string;
let database: PostgresDatabase | undefined;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "workspace-tasks-page-"));
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const inboxes: Readonly<Record<string, () => Promise<InboxStore>>> = {
  memory: async () => memoryInbox(),
  SQLite: async () => sqliteInbox(path.join(folder, `${crypto.randomUUID()}.db`)),
  ...(hasPostgres && {
    PostgreSQL: async () => {
      await database?.[Symbol.asyncDispose]();
      database = await (await sharedPostgres()).database();
      return postgresInbox(database.pool());
    },
  }),
};

interface Opened extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly log: readonly object[];
  readonly reads: () => number;
  get<Answer>(route: string): Promise<Answer>;
  post(action: string, body: object, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

/** A receiver with one handled task, one that is behind its state, and three events that failed, and its page below /inbox. */
async function open(inbox: InboxStore, options: Partial<InboxPageOptions> = {}): Promise<Opened> {
  let reads = 0;
  const counted = new Proxy(inbox, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (["list", "search", "stats", "leases", "get"].includes(String(name))) reads += 1;
        return value.apply(target, args);
      };
    },
  });
  const log: object[] = [];
  const note = (fields: object, message: string) => void log.push({ ...fields, message });
  const receiver = createReceiver({
    secrets: [secretA],
    inbox: counted,
    logger: { info() {}, warn: note, error: note },
    retry: { attemptsMax: 1 },
  });
  receiver.onState("task", (event) => {
    if (event.clientId === "bad") throw new NonRetryableError(`no client 4711 in ${script}`);
  });
  await receiver.start();
  const deliver = async (event: Readonly<Record<string, unknown>>) => {
    const body = Buffer.from(JSON.stringify(event));
    const timestamp = Math.floor(Date.now() / 1_000);
    await receiver.accept({ id: `msg_${event["id"]}`, timestamp, body, secretIndex: 0 });
  };
  await deliver(completedEvent({ taskId: "task-1", occurredAt: "2026-03-01T09:31:00Z" }));
  await expect.poll(async () => (await receiver.stats()).attempts.done).toBe(1);
  await deliver(sampleEvent({ taskId: "task-1" }));
  await expect.poll(async () => (await receiver.stats()).attempts.stale).toBe(1);
  for (const number of [2, 3]) await deliver(sampleEvent({ taskId: `task-${number}`, clientId: "bad" }));
  await deliver(sampleEvent({ taskId: script, clientId: "bad" }));
  await expect.poll(async () => (await receiver.stats()).attempts.dead).toBe(3);
  const app = express();
  app.use("/inbox", inboxPage(receiver, { authorize: "this-computer", ...options }));
  const server: ListeningServer = await listen(createServer(app));
  const origin = `http://localhost:${server.port}`;
  return {
    origin,
    port: server.port,
    log,
    reads: () => reads,
    async get(route) {
      const response = await fetch(`${origin}/inbox/api/${route}`);
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
      return (await response.json()) as never;
    },
    post: (action, body, headers = {}) =>
      fetch(`${origin}/inbox/api/${action}`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json", ...headers },
      }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await receiver.close();
    },
  };
}

const errorOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { error: { code: string } }).error.code,
];

describe.each(Object.keys(inboxes))("the page of an inbox, %s", (name) => {
  it("answers what waits, what failed and why, and what became of each event of a task", async () => {
    await using page = await open(await inboxes[name]!());
    // Numbers of the inbox are kept for a moment.
    const read = () => page.get<contract.Overview>("overview");
    await expect.poll(async () => (await read()).rows).toEqual({ waiting: 0, dead: 3, quarantined: 0 });
    const overview = await read();
    expect(overview).toMatchObject({
      readOnly: false,
      actor: null,
      rows: { waiting: 0, dead: 3, quarantined: 0 },
      oldestPendingMs: null,
      receiver: { storingForMs: null, reconcile: { failed: 0 } },
      sources: [{ source: "default", newest: 5, dead: 3 }],
      processes: [],
    });
    expect(overview.activity.bars.map(({ counts }) => counts)).toEqual([{ done: 1, stale: 1, dead: 3 }]);

    const first = await page.get<contract.Page<contract.EventSummary>>("events?state=dead&limit=2");
    expect(first.data.map(({ task, state }) => [task, state])).toEqual([
      [script, "dead"],
      ["task-3", "dead"],
    ]);
    const rest = await page.get<typeof first>(`events?state=dead&limit=2&iterator=${first.iterator}`);
    expect([rest.data.map(({ task }) => task), rest.iterator]).toEqual([["task-2"], null]);
    expect(
      (await page.get<typeof first>("events?task=task-2&error=4711&event=task.*&since=1h")).data,
    ).toHaveLength(1);
    expect((await page.get<typeof first>("events?client=bad")).data).toHaveLength(3);

    const [group, ...others] = (await page.get<contract.ErrorList>("errors")).data;
    expect(others).toEqual([]);
    expect(group).toMatchObject({
      event: "task.running",
      message: expect.stringContaining("no client … in <script>alert(…)</script>"),
      count: 3,
      dead: 3,
      tasks: [script, "task-3", "task-2"],
    });
    const same = await page.get<typeof first>(`events?error=${encodeURIComponent(group!.text)}`);
    expect(same.data).toHaveLength(3);

    const task = await page.get<contract.TaskEvents>("task?task=task-1");
    expect(task.data.map(({ event, state, note }) => [event, state, note])).toEqual([
      [
        "task.running",
        "stale",
        "not applied: task.completed of 2026-03-01T09:31:00.000Z had been applied before",
      ],
      ["task.completed", "done", "applied"],
    ]);

    const { source, id } = group!.sample;
    const detail = await page.get<contract.EventDetail>(`event?source=${source}&id=${id}`);
    expect(detail).toMatchObject({ attempts: 1, body: null, lastError: expect.stringContaining("4711") });
    expect(detail.next).toBe("its attempt failed: replay it once the cause is gone, or discard it");
  });

  it("counts what an action would change, and replays or discards exactly that, with a name in the log", async () => {
    await using page = await open(await inboxes[name]!(), { authorize: () => "ada@example.com" });
    const { token, actor } = await page.get<contract.Overview>("overview");
    expect(actor).toBe("ada@example.com");
    const headers = { "x-page-token": token };
    const counted = await page.get<contract.Preview>("count?action=discard&task=task-2");
    expect(counted).toMatchObject({ count: 1, isPartial: false, events: { "task.running": 1 } });
    const { beforeSeq } = counted;
    const discarded = await page.post("discard", { filter: { task: "task-2" }, beforeSeq }, headers);
    expect([discarded.status, await discarded.json()]).toEqual([
      200,
      { counts: { discarded: 1 }, isPartial: false },
    ]);
    // Those that are dead; the replay of each fails again.
    const all = await page.get<contract.Preview>("count?action=replay");
    expect(all.count).toBe(2);
    const replayed = await page.post("replay", { filter: {}, beforeSeq: all.beforeSeq }, headers);
    expect(await replayed.json()).toMatchObject({ counts: { replayed: 2 } });
    const one = await page.post("replay", { source: "default", id: "msg_none" }, headers);
    expect(await one.json()).toMatchObject({ counts: { "not-found": 1 } });
    expect(page.log).toContainEqual(
      expect.objectContaining({ action: "discard", actor: "ada@example.com", counts: { discarded: 1 } }),
    );
    const dead = () => page.get<contract.Page<contract.EventSummary>>("events?state=dead");
    await expect.poll(async () => (await dead()).data.map(({ replays }) => replays)).toEqual([1, 1]);
  });
});

const routes = [
  "",
  "index.html",
  "api/overview",
  "api/events",
  "api/errors",
  "api/task?task=a",
  "api/event?source=a&id=b",
  "api/count?action=replay",
];

describe("the page of an inbox gives nothing to", () => {
  it("who is not authorized, on each route and action", async () => {
    await using page = await open(memoryInbox(), { authorize: () => null });
    for (const route of routes)
      expect([route, (await fetch(`${page.origin}/inbox/${route}`)).status]).toEqual([route, 401]);
    for (const action of ["replay", "discard"])
      expect(await errorOf(await page.post(action, { source: "default", id: "a" }))).toEqual([
        401,
        "UNAUTHORIZED",
      ]);
  });

  it.each([
    ["another host name", { host: "rebound.example" }],
    ["a proxy", { headers: [["X-Forwarded-For", "203.0.113.7"]] as const }],
    ["a page of another origin", { headers: [["Origin", "https://evil.example"]] as const }],
    ["an image of another site", { headers: [["Sec-Fetch-Site", "cross-site"]] as const }],
  ])("%s", async (_, request) => {
    await using page = await open(memoryInbox());
    for (const route of routes) {
      const bytes = requestBytes({
        method: "GET",
        path: `/inbox/${route}`,
        host: `localhost:${page.port}`,
        ...request,
      });
      const response = await sendRaw(page.port, bytes);
      expect([route, response.status]).toEqual([route, 403]);
      expect(response.body).not.toContain("task-2");
    }
  });

  it("who does not know the token of the page, or sends a form; nothing is changed", async () => {
    await using page = await open(memoryInbox());
    const { token } = await page.get<contract.Overview>("overview");
    const everything = { filter: {}, beforeSeq: 1_000 };
    expect(await errorOf(await page.post("discard", everything))).toEqual([403, "TOKEN_INVALID"]);
    expect(await errorOf(await page.post("discard", everything, { "x-page-token": `${token}x` }))).toEqual([
      403,
      "TOKEN_INVALID",
    ]);
    const form = { "x-page-token": token, "content-type": "text/plain" };
    expect(await errorOf(await page.post("discard", everything, form))).toEqual([415, "MEDIA_TYPE"]);
    const large = { source: "default", id: "x".repeat(70_000) };
    expect(await errorOf(await page.post("discard", large, { "x-page-token": token }))).toEqual([
      413,
      "BODY_TOO_LARGE",
    ]);
    const { data } = await page.get<contract.Page<contract.EventSummary>>("events?state=dead");
    expect(data).toHaveLength(3);
    // The control: with the token it happens.
    expect((await page.post("discard", everything, { "x-page-token": token })).status).toBe(200);
  });

  it("changes, when it is read-only", async () => {
    await using page = await open(memoryInbox(), { readOnly: true });
    expect((await page.get<contract.Overview>("overview")).token).toBe("");
    expect(await errorOf(await page.post("replay", { source: "default", id: "a" }))).toEqual([
      403,
      "READ_ONLY",
    ]);
  });

  it("HTML: an event's texts are JSON that no browser takes for a page", async () => {
    await using page = await open(memoryInbox(), { showBodies: true });
    const response = await fetch(`${page.origin}/inbox/api/errors`);
    expect(await response.text()).toContain("<script>");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
  });
});

describe("the page of an inbox takes no action that was not meant", () => {
  const openWithToken = async (options: Partial<InboxPageOptions> = {}) => {
    const page = await open(memoryInbox(), options);
    const { token } = await page.get<contract.Overview>("overview");
    const post = (action: string, body: object) => page.post(action, body, { "x-page-token": token });
    return { ...page, post };
  };

  it.each([
    ["a filter that is not known", { filter: { tsak: "task-2" }, beforeSeq: 1_000 }],
    ["a filter that is no text", { filter: { task: ["task-2"] }, beforeSeq: 1_000 }],
    ["a list for a filter", { filter: [], beforeSeq: 1_000 }],
    ["a filter without what was counted", { filter: {} }],
    ["a filter beside an event", { filter: {}, beforeSeq: 1_000, source: "default" }],
    ["nothing", {}],
  ])("for %s", async (_, body) => {
    await using page = await openWithToken();
    expect(await errorOf(await page.post("discard", body))).toEqual([400, "ARGUMENT_INVALID"]);
    const { data } = await page.get<contract.Page<contract.EventSummary>>("events?state=dead");
    expect(data).toHaveLength(3);
  });

  it("for handled events, which are handled again one by one", async () => {
    await using page = await openWithToken();
    const route = "count?action=replay&state=done,stale";
    const { count, beforeSeq } = await page.get<contract.Preview>(route);
    const response = await page.post("replay", { filter: { state: "done,stale" }, beforeSeq: 1_000 });
    expect([count, beforeSeq, await response.json()]).toEqual([0, 1, { counts: {}, isPartial: false }]);
    const [row] = (await page.get<contract.Page<contract.EventSummary>>("events?state=stale")).data;
    const one = await page.post("replay", { source: "default", id: row!.id });
    expect(await one.json()).toEqual({ counts: { replayed: 1 }, isPartial: false });
  });

  it.each([
    ["14s", [200, "discarded"]],
    ["16s", [503, "quarantined"]],
    ["21s", [503, "quarantined"]],
  ])("when the login of the application took %s", async (duration, expected) => {
    const [store, clock] = [memoryInbox(), createVirtualClock()];
    const login = deferred<string>();
    let isSlow = false;
    const log = { info() {}, warn() {}, error() {} };
    const shown = { inbox: store, open: async () => {}, source: null, stats: undefined, clock, logger: log };
    const page = createInboxPage(shown, { authorize: () => (isSlow ? login.promise : "ann") });
    await store.insert(runningAt("task-1", 1, { id: "a", quarantine: "odd" }));
    const overview = await page.fetch(new Request("https://app.example/inbox/api/overview"));
    const { token } = (await overview.json()) as contract.Overview;
    isSlow = true;
    const request = new Request("https://app.example/inbox/api/discard", {
      method: "POST",
      headers: { "content-type": "application/json", "x-page-token": token },
      body: JSON.stringify({ source: "default", id: "a" }),
    });
    const responded = page.fetch(request);
    await clock.advance(duration);
    login.resolve("ann");
    const { status } = await responded;
    // What a request that was given up might still do, it does in the next turns.
    await new Promise((resolve) => setImmediate(resolve));
    expect([status, (await store.get({ source: "default", id: "a" }))?.state]).toEqual(expected);
  });

  it("for more than 10,000 events at once, and says that some are left", async () => {
    await using inbox = await opened(memoryInbox());
    for (let n = 0; n < 10_001; n++)
      await inbox.store.insert(runningAt(`task-${n}`, 1, { id: `${n}`, quarantine: "odd" }));
    const { token } = await inbox.get<contract.Overview>("overview");
    const discardAll = async () => {
      const init = {
        method: "POST",
        headers: { "content-type": "application/json", "x-page-token": token },
        body: JSON.stringify({ filter: {}, beforeSeq: 1_000_000 }),
      };
      return (await inbox.page.fetch(new Request("https://app.example/inbox/api/discard", init))).json();
    };
    expect(await discardAll()).toEqual({ counts: { discarded: 10_000 }, isPartial: true });
    expect(await discardAll()).toEqual({ counts: { discarded: 1 }, isPartial: false });
  });

  it("for a group whose errors have nothing in common but digits", async () => {
    await using inbox = await opened(memoryInbox());
    for (const [id, quarantine] of Object.entries({ a: "4711", b: "4712", c: "other" }))
      await inbox.store.insert(runningAt(`task-${id}`, 1, { id, quarantine }));
    const groups = (await inbox.get<contract.ErrorList>("errors")).data;
    expect(groups.map(({ message, text, count, dead }) => [message, text, count, dead]).sort()).toEqual([
      ["other", "other", 1, 1],
      ["…", expect.stringMatching(/^471[12]$/), 2, 2],
    ]);
    expect((await inbox.get<contract.Overview>("overview")).sources).toMatchObject([{ dead: 3, failing: 0 }]);
  });
});

/** An inbox that no receiver handles, behind `fetch`. */
async function opened(store: InboxStore, options: Partial<InboxPageOptions> = {}) {
  await store.open();
  const log = { info() {}, warn() {}, error() {} };
  const receiver = createReceiver({ secrets: [secretA], inbox: store, logger: log });
  const page = inboxPage(receiver, { authorize: () => "ann", ...options });
  return {
    store,
    page,
    async get<Answer>(route: string): Promise<Answer> {
      const response = await page.fetch(new Request(`https://app.example/inbox/api/${route}`));
      expect(response.status).toBe(200);
      return (await response.json()) as never;
    },
    discard(id: string, token: string): Promise<Response> {
      const init = {
        method: "POST",
        headers: { "content-type": "application/json", "x-page-token": token },
        body: JSON.stringify({ source: "default", id }),
      };
      return page.fetch(new Request("https://app.example/inbox/api/discard", init));
    },
    async [Symbol.asyncDispose]() {
      await receiver.close();
      await store.close();
    },
  };
}

describe("the page of an inbox, wherever it is", () => {
  const serve = async (mount: (page: ReturnType<typeof inboxPage>) => RequestListener) => {
    const inbox = await opened(memoryInbox());
    await inbox.store.insert(runningAt("task-1", 1, { id: "odd", quarantine: "not JSON" }));
    const server = await listen(createServer(mount(inbox.page)));
    const dispose = async () => {
      await server[Symbol.asyncDispose]();
      await inbox[Symbol.asyncDispose]();
    };
    return { port: server.port, origin: server.origin, [Symbol.asyncDispose]: dispose };
  };
  const inExpress = (use: (app: express.Express, page: ReturnType<typeof inboxPage>) => void) => {
    return (page: ReturnType<typeof inboxPage>) => {
      const app = express();
      use(app, page);
      return app as RequestListener;
    };
  };

  it.each<[string, string, (page: ReturnType<typeof inboxPage>) => RequestListener]>([
    ["node:http", "", (page) => page],
    [
      "Express behind express.json()",
      "/admin/inbox",
      inExpress((app, page) => app.use(express.json()).use("/admin/inbox", page)),
    ],
    ["Express as a route", "/inbox", inExpress((app, page) => app.all(["/inbox", "/inbox/*rest"], page))],
    [
      "Connect, which says where only by the address",
      "/inbox",
      (page) => (request, response) => {
        const url = request.url ?? "";
        page(Object.assign(request, { originalUrl: url, url: url.replace(/^\/inbox/, "") || "/" }), response);
      },
    ],
  ])("%s", async (_, place, mount) => {
    await using server = await serve(mount);
    const overview = await (await fetch(`${server.origin}${place}/api/overview`)).json();
    expect(overview).toMatchObject({ actor: "ann", rows: { quarantined: 1 } });
    const discarded = await fetch(`${server.origin}${place}/api/discard`, {
      method: "POST",
      // A proxy has given another Host than the browser has seen.
      headers: {
        "content-type": "application/json",
        "x-page-token": (overview as contract.Overview).token,
        "sec-fetch-site": "same-origin",
        origin: "https://app.example",
      },
      body: JSON.stringify({ source: "default", id: "odd" }),
    });
    expect(await discarded.json()).toMatchObject({ counts: { discarded: 1 } });
  });

  it("survives addresses that are none, and says so", async () => {
    await using server = await serve((page) => page);
    for (const target of ["//", "http://[", "///:x", "/\\"]) {
      const bytes = requestBytes({ method: "GET", path: target, host: `localhost:${server.port}` });
      expect([target, (await sendRaw(server.port, bytes)).status]).toEqual([target, expect.any(Number)]);
    }
    expect((await fetch(`${server.origin}/api/overview`)).status).toBe(200);
  });

  it("answers 413 before it closes the connection of a body without an end", async () => {
    await using server = await serve((page) => page);
    const { token } = (await (await fetch(`${server.origin}/api/overview`)).json()) as contract.Overview;
    const headers = [
      ["Content-Type", "application/json"],
      ["x-page-token", token],
    ] as const;
    const head = {
      path: "/api/discard",
      host: `localhost:${server.port}`,
      headers,
      contentLength: 10_000_000,
    };
    const response = await sendRaw(server.port, requestBytes({ ...head, body: "x".repeat(100_000) }));
    expect([response.status, response.headers["connection"]]).toEqual([413, "close"]);
  });

  it("takes the token of each process of its inbox, also when two have begun at once, and of no other person", async () => {
    const store = memoryInbox();
    await using first = await opened(store);
    await using second = await opened(store);
    for (const id of ["a", "b"]) await store.insert(runningAt("task-1", 1, { id, quarantine: "odd" }));
    const tokens = await Promise.all(
      [first, second].map(async (each) => (await each.get<contract.Overview>("overview")).token),
    );
    expect(tokens[0]).toBe(tokens[1]);
    expect((await first.discard("a", tokens[1]!)).status).toBe(200);
    expect((await second.discard("b", tokens[1]!)).status).toBe(200);
    await using other = await opened(store, { authorize: () => "bob" });
    expect(await errorOf(await other.discard("b", tokens[1]!))).toEqual([403, "TOKEN_INVALID"]);
  });

  it("takes the token of another process when its database was restored and has another secret", async () => {
    let restored: InboxMarks | undefined;
    const store = memoryInbox();
    const readMarks: InboxStore["readMarks"] = async (source) => ({
      nowMs: 0,
      marks: restored ?? (await store.readMarks(source)).marks,
    });
    await using before = await opened(overrideInbox(store, { readMarks }));
    await store.insert(runningAt("task-1", 1, { id: "a", quarantine: "odd" }));
    await before.get("overview");
    restored = { "page-secret": "restored" };
    await using after = await opened(overrideInbox(store, { readMarks }));
    const { token } = await after.get<contract.Overview>("overview");
    expect(await errorOf(await before.discard("a", "guessed"))).toEqual([403, "TOKEN_INVALID"]);
    expect((await before.discard("a", token)).status).toBe(200);
  });

  it("is read-only where its inbox cannot be written, and says so once", async () => {
    let writes = 0;
    const store = overrideInbox(memoryInbox(), {
      keepMark: () => {
        writes += 1;
        return Promise.reject(Object.assign(new Error("permission denied"), { code: "42501" }));
      },
    });
    await using inbox = await opened(store);
    for (let n = 0; n < 3; n++)
      expect(await inbox.get("overview")).toMatchObject({ readOnly: true, token: "" });
    expect(await errorOf(await inbox.discard("a", ""))).toEqual([403, "READ_ONLY"]);
    expect(writes).toBe(1);
  });

  it("is not read-only while its inbox is away, and has its token afterwards", async () => {
    const store = memoryInbox();
    let isAway = true;
    const away = () => Promise.reject(new ReceiverError("INBOX_UNAVAILABLE", "away"));
    const readMarks: InboxStore["readMarks"] = (source) => (isAway ? away() : store.readMarks(source));
    await using inbox = await opened(overrideInbox(store, { readMarks }));
    const read = () => inbox.page.fetch(new Request("https://app.example/inbox/api/overview"));
    expect(await errorOf(await read())).toEqual([503, "INBOX_UNAVAILABLE"]);
    isAway = false;
    expect(await inbox.get("overview")).toMatchObject({ readOnly: false, token: expect.stringMatching(/./) });
  });

  it("finds an event behind many that do not match, page by page", async () => {
    await using inbox = await opened(sqliteInbox(path.join(folder, `${crypto.randomUUID()}.db`)));
    await inbox.store.insert(runningAt("task-rare", 1, { id: "rare" }));
    for (let n = 0; n < 52_000; n += 1_000)
      await Promise.all(
        Array.from({ length: 1_000 }, (_, i) =>
          inbox.store.insert(runningAt(`task-${n + i}`, 1, { id: `${n + i}` })),
        ),
      );
    const found: string[] = [];
    let pages = 0;
    for (let iterator: string | null = ""; iterator !== null; pages++) {
      const route: string = `events?task=task-rare${iterator && `&iterator=${iterator}`}`;
      const page = await inbox.get<contract.Page<contract.EventSummary>>(route);
      found.push(...page.data.map(({ id }) => id));
      iterator = page.iterator;
    }
    expect([found, pages]).toEqual([["rare"], 2]);
  });
});

describe("the page of an inbox", () => {
  it("reads nothing while no one looks, and once for many who look", async () => {
    await using page = await open(memoryInbox());
    const before = page.reads();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(page.reads()).toBe(before);
    await Promise.all(Array.from({ length: 50 }, () => page.get("errors")));
    expect(page.reads() - before).toBeLessThan(100);
  });

  it("shows bodies only where the application says so", async () => {
    await using page = await open(memoryInbox(), { showBodies: true });
    const [row] = (await page.get<contract.Page<contract.EventSummary>>("events?state=dead&limit=1")).data;
    const detail = await page.get<contract.EventDetail>(`event?source=default&id=${row!.id}`);
    expect(JSON.parse(detail.body ?? "{}")).toMatchObject({ clientId: "bad" });
  });

  it.each([
    ["events?state=died", "state: expected pending"],
    ["events?since=yesterday", "since: expected a time"],
    ["events?limit=0", "limit: expected a whole number"],
    ["task", "task: expected a text"],
    ["count?action=delete", "action: expected replay or discard"],
  ])("says what is wrong with %s", async (route, message) => {
    await using page = await open(memoryInbox());
    const response = await fetch(`${page.origin}/inbox/api/${route}`);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(message)]);
  });

  it("is served to a fetch Request wherever it is mounted, to the function of the application alone", async () => {
    const receiver = createReceiver({ secrets: [secretA], inbox: memoryInbox() });
    const asked: unknown[] = [];
    const authorize = (request: unknown) => asked.push(request) > 0;
    const { fetch } = inboxPage(receiver, { authorize });
    const overview = await fetch(new Request("https://app.example/inbox/api/overview"));
    expect([overview.status, asked.length]).toEqual([200, 1]);
    const here = inboxPage(receiver, { authorize: "this-computer" });
    expect((await here.fetch(new Request("http://localhost/api/overview"))).status).toBe(403);
    await receiver.close();
  });

  it("needs authorize, and a receiver", () => {
    const receiver = createReceiver({ secrets: [secretA], inbox: memoryInbox() });
    expect(() => inboxPage(receiver, {} as never)).toThrow("inboxPage: authorize: expected a function");
    expect(() => inboxPage({} as never, { authorize: "this-computer" })).toThrow("expected a receiver");
  });
});
