import { createMockServer, type SettingsChanges } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import type { Service } from "../../../../mock-server/tools/compare/ask/service.ts";
import { type Finding, recordLine } from "../../../../mock-server/tools/compare/findings.ts";
import {
  renderJsonReport,
  renderJunitReport,
  renderTextReport,
} from "../../../../mock-server/tools/compare/report.ts";
import { changing } from "../../../support/changed-responses.ts";
import {
  type Around,
  type ComparedService,
  compare,
  differencesIn,
  idsOf,
  reasonOf,
  startComparedService,
} from "../../../support/compared-service.ts";
import { atDepth } from "../../../support/depth.ts";
import { jsonPost } from "../../../support/mock-client.ts";

const writing = { writes: true } as const;

const lost = () =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) });

/** Calls `before` with the number of each request; what it returns is the response. */
const numbered =
  (before: (count: number, body: string) => Promise<Response | undefined> | Response | undefined): Around =>
  (send) => {
    let count = 0;
    return async (url, init) => {
      count += 1;
      return (await before(count, String(init.body))) ?? send(url, init);
    };
  };

/** Lets so many requests pass. */
const onlyFirst = (requests: number, respond: () => Response): Around =>
  numbered((count) => (count > requests ? respond() : undefined));

/** How many records of each kind there are. */
async function recordsOf({ mock }: ComparedService): Promise<Readonly<Record<string, number>>> {
  const { state } = await mock.control.getSnapshot();
  return Object.fromEntries(Object.entries(state).map(([noun, list]) => [noun, list.length]));
}

describe("compare with an equal service has no difference", () => {
  it("for different seeds, and confirms more than 90", async () => {
    for (const seed of Array.from({ length: atDepth(2, 50) }, (_, index) => index + 2)) {
      await using service = await startComparedService({}, seed);
      const report = await compare(service);
      expect(differencesIn(report), `seed ${seed}`).toEqual([]);
      expect(idsOf(report, "confirmed").length).toBeGreaterThan(90);
    }
  });

  it("when the workspace is empty, and says what is missing", async () => {
    const clock = createVirtualClock();
    await using mock = await createMockServer({ listen: false, clock });
    const report = await compare(
      { mock, clock, keys: { admin: mock.apiKey }, [Symbol.asyncDispose]: async () => {} },
      writing,
    );
    expect(differencesIn(report)).toEqual([]);
    expect(reasonOf(report, "tasks.filter-id")).toBe("the workspace has no task");
    expect(reasonOf(report, "endpoints.paging")).toBe("the workspace has fewer than two webhook endpoints");
  });

  const withOthers = (service: ComparedService) =>
    numbered(async (count) => {
      const url = `https://receiver.invalid/${count}`;
      if (count % 2 === 0) await service.mock.control.startTask({ taskType: "BINDER" });
      if (count % 3 === 0)
        await service.mock.control.createEndpoint({ url, eventTypes: ["documents.synced"] });
      return undefined;
    });

  const slow =
    (service: ComparedService): Around =>
    (send) =>
    async (url, init) => {
      await service.clock.advance(7_000);
      const response = await send(url, init);
      await service.clock.advance(7_000);
      return response;
    };

  const unreliable = (service: ComparedService) =>
    numbered(async (count) => {
      await service.clock.advance(count % 9 === 0 ? 9_000 : 400);
      if (count % 7 === 0) throw lost();
      if (count % 11 === 0) return new Response("<html>Bad Gateway</html>", { status: 502 });
      return count % 13 === 0 ? new Response("", { status: 503 }) : undefined;
    });

  const longerTokens = (): Around => (send) => (url, init) => {
    const body = String(init.body).replace('"expiresInSeconds":3', '"expiresInSeconds":60');
    return send(url, typeof init.body === "string" ? { ...init, body } : init);
  };

  const oneOperation = () =>
    changing((exchange) => {
      if (exchange.query.includes("query Check"))
        exchange.json = { errors: [{ message: "Only one operation", extensions: { code: "BAD_REQUEST" } }] };
    });

  const limited = { rateLimit: { requests: 30 } };
  const changed = "the workspace's tasks changed during the run";
  const longer = "the service issued a longer token than asked for";
  const rejected = "the request was rejected with BAD_REQUEST";
  it.each<[string, SettingsChanges, (service: ComparedService) => Around, rule: string, reason: string]>([
    ["other users create tasks and endpoints", {}, withOthers, "tasks.offset", changed],
    ["each response takes 14 s", {}, slow, "tokens.expired", 'UNAUTHENTICATED "Unauthorized"'],
    ["it is slow, rate-limited and unreliable", limited, unreliable, "endpoints.done", "null"],
    ["it issues longer tokens than asked for", {}, longerTokens, "tokens.expired", longer],
    ["it takes no document with several operations", {}, oneOperation, "drift.CreateJobWorks", rejected],
  ])("when %s", async (_, settings, around, rule, reason) => {
    await using service = await startComparedService(settings);
    const report = await compare(service, { ...writing, around: around(service) });
    expect([differencesIn(report), report.stopped, reasonOf(report, rule)]).toEqual([[], null, reason]);
  });

  it("when it is set to a limit of three, so that tokens expire between requests", async () => {
    const settings = { rateLimit: { requests: 3 } };
    await using service = await startComparedService(settings);
    const report = await compare(service, { settings });
    expect([differencesIn(report), report.stats.rateLimited]).toEqual([[], 0]);
  });

  it.each(["admin's key is read-only", "admin's key is of a member"])("when the %s", async (kind) => {
    await using service = await startComparedService();
    const { apiKey } = await service.mock.control.createApiKey({ role: "l1" });
    const admin = kind.endsWith("read-only") ? service.keys.readOnly : apiKey;
    const keys = { ...service.keys, ...(admin ? { admin } : {}) };
    const report = await compare({ ...service, keys }, { ...writing, keys: ["admin", "partner"] });
    expect(differencesIn(report)).toEqual([]);
    expect(reasonOf(report, "endpoints.limit-0")).toMatch(/^the key may not do this: /);
  });

  it("when another user of the key sends 75 requests a minute, and neither gets a 429", async () => {
    await using service = await startComparedService();
    const { mock, clock } = service;
    let others = 0;
    const another = async (): Promise<void> => {
      others += 1;
      const { workspaceToken } = await mock.control.createTokens();
      const request = jsonPost({ query: "{ me { __typename } }" }, workspaceToken);
      const response = await mock.fetch("/graphql", request);
      expect(response.status).toBe(200);
      clock.schedule(800, () => void clock.track(another()));
    };
    await another();
    const report = await compare(service);
    expect([report.stats.rateLimited, differencesIn(report)]).toEqual([0, []]);
    expect(others).toBeGreaterThan(50);
  });
});

describe("compare with a service in trouble", () => {
  const limited = (retryAfter: string) => () =>
    Response.json({ errors: [{ message: "x" }] }, { status: 429, headers: { "retry-after": retryAfter } });

  it("ends when the service wants a wait of a day, without another request", async () => {
    await using service = await startComparedService();
    const report = await compare(service, { around: onlyFirst(20, limited("86400")) });
    expect(report.stopped).toContain("86400 s");
    expect([report.stats.requests, differencesIn(report)]).toEqual([21, []]);
  });

  it("ends when five rules in a row have no response, with the reason in the rules", async () => {
    await using service = await startComparedService();
    const report = await compare(service, {
      around: onlyFirst(20, () => new Response(null, { status: 502 })),
    });
    expect(report.stopped).toMatch(/^5 rules in a row had no response: .*502/);
    expect([report.stats.lost, differencesIn(report)]).toEqual([15, []]);
    expect(report.rules.some(({ received }) => received.includes("502"))).toBe(true);
  });

  it("does not end when one request, which many rules read, has no response", async () => {
    await using service = await startComparedService();
    const away = numbered((_, body) =>
      body.includes("query WebhookEventCatalog") ? new Response(null, { status: 502 }) : undefined,
    );
    const report = await compare(service, { around: away });
    expect([report.stopped, differencesIn(report), report.stats.lost]).toEqual([null, [], 3]);
    expect(reasonOf(report, "catalog.task.running")).toContain("502");
  });

  it("stops reading a response without an end", async () => {
    await using service = await startComparedService();
    let chunks = 0;
    const pull = (controller: ReadableStreamDefaultController) => {
      chunks += 1;
      controller.enqueue(new Uint8Array(1_048_576));
    };
    const endless = () => new Response(new ReadableStream({ pull }));
    expect((await compare(service, { around: onlyFirst(0, endless) })).problem?.message).toMatch(
      /is not the service/,
    );
    expect(chunks).toBeLessThan(12);
  });
});

describe("what compare does to a service", () => {
  it("a read-only run changes nothing, and sends no mutation but token exchanges", async () => {
    await using service = await startComparedService();
    const { control } = service.mock;
    const before = JSON.stringify((await control.getSnapshot()).state);
    const { stats } = await compare(service);
    const { data } = await control.listRequests({ limit: 1_000 });
    const operations = new Set(data.flatMap((request) => request.operations));
    expect(operations).toContain("webhookEventCatalog");
    expect(
      [...operations].filter((name) =>
        /^(create|update|delete|rotate|add|start|collect|initiate|trigger)/.test(name),
      ),
    ).toEqual([]);
    expect(JSON.stringify((await control.getSnapshot()).state)).toBe(before);
    expect(stats.requests).toBeLessThanOrEqual(100);
  });

  it("a run with writes removes what it created and creates nothing else", async () => {
    await using service = await startComparedService();
    const before = await recordsOf(service);
    const report = await compare(service, writing);
    expect([differencesIn(report), report.stopped, report.stats.rateLimited]).toEqual([[], null, 0]);
    expect(report.removal).toEqual({ left: [], problem: null });
    const { data } = await service.mock.control.listRequests({ limit: 1_000 });
    const creations = data.filter(({ operations }) => operations.includes("createWebhookEndpoint"));
    expect(creations.length).toBeGreaterThan(10);
    expect(await recordsOf(service)).toEqual(before);
  });

  it.each(["stopped", "failed"])(
    "a run with writes that is %s removes what it created at once",
    async (end) => {
      await using service = await startComparedService();
      const before = await recordsOf(service);
      const stopping = new AbortController();
      let stoppedAtMs = 0;
      let started: Service | undefined;
      const running = compare(service, {
        ...writing,
        signal: stopping.signal,
        onStart: (run) => {
          started = run;
        },
        onWait(_, reason) {
          if (reason !== "for another time") return;
          stoppedAtMs = service.clock.now();
          expect(started?.created.size).toBe(1);
          if (end === "failed") throw new RangeError("a defect");
          stopping.abort();
        },
      });
      const report = await running.catch((error: unknown) => error);
      // A user who waits presses Ctrl-C again, which ends the process.
      expect(service.clock.now() - stoppedAtMs).toBeLessThan(1_000);
      const stopped = { stopped: "stopped", removal: { left: [] } };
      expect(report).toMatchObject(end === "failed" ? { message: "a defect" } : stopped);
      expect(await recordsOf(service)).toEqual(before);
    },
  );
});

describe("records and reports of compare", () => {
  /** Names, addresses, ids and texts of every record of the mock. */
  async function textsStoredBy({ mock }: ComparedService): Promise<readonly string[]> {
    const texts = new Set<string>();
    const collect = (value: unknown): void => {
      if (typeof value === "string") texts.add(value);
      else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
    };
    collect((await mock.control.getSnapshot()).state);
    // The service's own words, which a report is about.
    return [...texts].filter(
      (text) => text.length > 3 && /[^a-zA-Z_.-]/.test(text) && !/^F\d+\w?$|^l\d$/.test(text),
    );
  }

  it("hold no key, no token and nothing that the service stores, also when it repeats keys and names", async () => {
    await using service = await startComparedService();
    const keys = {
      ...service.keys,
      expired: "wt-expired.key",
      revoked: "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
    };
    const findings: Finding[] = [];
    const report = await compare(
      { ...service, keys },
      {
        ...writing,
        onFinding: (finding) => findings.push(finding),
        around: changing(({ json }) => {
          if (json.data) json.data["Miller & Sons"] = "ssn 123-45-6789";
          for (const entry of json.data?.webhookEventCatalog ?? []) entry.status = keys.expired;
          for (const task of json.data?.me?.workspace?.tasks ?? []) task.status = "Miller & Sons";
          for (const error of json.errors ?? [])
            error.message += ` ${keys.revoked} ${keys.expired} \u001b[2J`;
        }),
      },
    );
    const rendered = [renderTextReport, renderJsonReport, renderJunitReport].map((render) => render(report));
    const secrets = [...Object.values(keys), ...(await textsStoredBy(service)), "Miller", "6789", "\u001b"];
    for (const output of [findings.map(recordLine).join(""), ...rendered, JSON.stringify(report.settings)]) {
      expect(secrets.filter((secret) => output.includes(secret))).toEqual([]);
      expect(output).not.toMatch(/eyJ[\w-]{8,}|whsec_\w+|(?!0{8})[0-9a-f]{8}-[0-9a-f]{4}-7/);
    }
    expect(rendered[0]).toContain("<revoked key>");
  });
});

describe("what compare finds", () => {
  it("with the settings that a comparison has written, the mock does what the service did", async () => {
    const replaceWith = { code: "INVALID_CURSOR", message: "The cursor is invalid" };
    const settings: SettingsChanges = {
      tokenLifetimeSeconds: 300,
      unauthenticatedStatus: 401,
      bounds: { endpointPageItemsMax: 50, listItemsMax: 500 },
      errors: [{ code: "BAD_USER_INPUT", message: "Invalid iterator", replaceWith }],
      tasks: { plans: { TAX_PREP: { progression: "timed", stages: [{ type: "intake", durationMs: 100 }] } } },
    };
    await using service = await startComparedService(settings);
    const before = await compare(service);
    expect(differencesIn(before).length).toBeGreaterThan(6);
    expect(before.notExpressed).toEqual([]);
    expect(differencesIn(await compare(service, { settings: before.settings }))).toEqual([]);
  });

  it("a fact outside of what settings can express is reported without a setting", async () => {
    await using service = await startComparedService();
    const around = changing(({ json, query }) => {
      if (query.includes("limit: 1001"))
        json.errors[0].message = "Limit must be between 1 and 99999999999999999999";
    });
    const report = await compare(service, { around });
    expect([report.settings, report.notExpressed]).toEqual([
      {},
      expect.arrayContaining(["tasks.limit-1001"]),
    ]);
  });

  it("what was sent is shown without keys, and what differs beside what was expected", async () => {
    await using service = await startComparedService();
    const around = changing(({ json, variables }) => {
      for (const client of json.data?.me?.workspace?.clients ?? []) client.taxYear = "2025";
      if (variables.refreshToken === service.keys.revoked) json.errors[0].message = "The key was revoked";
    });
    const report = await compare(service, { around });
    expect(report.rules.find(({ id }) => id === "drift.ListClients")).toMatchObject({
      expected: "the types of the contract",
      received: expect.stringMatching(/taxYear/),
    });
    expect(report.rules.find(({ id }) => id === "tokens.revoked-key")).toMatchObject({
      verdict: "differs",
      sent: ['ExchangeApiKey {"refreshToken":"<revoked key>"}, without a token'],
    });
  });
});
