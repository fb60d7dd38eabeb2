import { describe, expect, it } from "vitest";
import { evaluateRecord } from "../../../../mock-server/compare/compare-service.ts";
import type { Observation } from "../../../../mock-server/compare/observe/observation.ts";
import { type KeyName, keyNames } from "../../../../mock-server/compare/plan/probe.ts";
import { headerLine, observationLine, parseRecord } from "../../../../mock-server/compare/record.ts";
import type { CompareReport } from "../../../../mock-server/compare/report/compare-report.ts";
import { renderJsonReport } from "../../../../mock-server/compare/report/json-report.ts";
import { renderJunitReport } from "../../../../mock-server/compare/report/junit-report.ts";
import { renderMarkdownReport } from "../../../../mock-server/compare/report/markdown-report.ts";
import { renderTextReport } from "../../../../mock-server/compare/report/text-report.ts";
import { type ComparedService, compare, startComparedService } from "../../../support/compared-service.ts";
import { atDepth } from "../../../support/depth.ts";
import { changing, plantedReads, plantedWrites } from "../../../support/planted-differences.ts";

const refutedIn = ({ rules }: CompareReport) =>
  rules.filter(({ verdict }) => verdict === "refuted").map(({ id }) => id);

/** Root fields of the requests that the service has received. */
async function operationsOf({ mock }: ComparedService): Promise<readonly string[]> {
  const { data } = await mock.control.listRequests({ limit: 1_000 });
  return [...new Set(data.flatMap(({ operations }) => operations))].toSorted();
}

const readOnlyOperations = [
  "__typename",
  "exchangeSurfaceRefreshTokenForAccessTokens",
  "loginViaPersonalApiToken",
  "me",
  "webhookEventCatalog",
];

const plan = { permissions: new Set(["read"] as const), keys: new Set<KeyName>(keyNames), hasGateway: true };

describe("compareService", () => {
  it("an equal service has no refuted rule, with different seeds", async () => {
    for (const seed of Array.from({ length: atDepth(10, 50) }, (_, index) => index + 2)) {
      await using service = await startComparedService({ seed });
      const report = await compare(service);
      expect(refutedIn(report), `seed ${seed}`).toEqual([]);
      expect(report.rules.filter(({ verdict }) => verdict === "confirmed").length).toBeGreaterThan(90);
    }
  });

  it("a task that was completed through the control API, so without stages, refutes no rule", async () => {
    await using service = await startComparedService();
    const { control } = service.mock;
    const { taskId } = await control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    await control.setTaskStatus(taskId, { status: "COMPLETED" });
    const report = await compare(service);
    expect(refutedIn(report)).toEqual([]);
    expect(report.rules.find(({ id }) => id === "tasks.stages")?.verdict).toBe("confirmed");
  });

  it("a response with another type is reported beside what was expected", async () => {
    const planted = plantedReads.find(({ name }) => name === "taxYear is text");
    if (!planted?.change) throw new Error("no such difference is planted");
    await using service = await startComparedService();
    const report = await compare(service, { around: changing(planted.change, service.keys) });
    expect(report.rules.find(({ id }) => id === "drift.ListClients")).toMatchObject({
      expected: "the types of the contract",
      received: expect.stringMatching(/taxYear/),
    });
  });

  it.each(plantedReads)(
    "the difference $name is named by $rule",
    async ({ change, settings = {}, tasks = 0, rule }) => {
      await using service = await startComparedService({ settings, tasks });
      const report = await compare(service, change ? { around: changing(change, service.keys) } : {});
      expect(refutedIn(report)).toContain(rule);
    },
  );

  it.each(plantedWrites)(
    "the difference $name is named by $rule",
    async ({ change, settings = {}, rule }) => {
      await using service = await startComparedService({ settings });
      const permissions = ["read", "write"] as const;
      const report = await compare(service, {
        permissions,
        ...(change ? { around: changing(change, service.keys) } : {}),
      });
      expect(refutedIn(report)).toContain(rule);
      expect((await service.mock.control.listEndpoints()).data).toHaveLength(4);
    },
  );

  it("a run with writes has no false alarm, removes what it created and creates nothing else", async () => {
    await using service = await startComparedService();
    const before = await recordsOf(service);
    const report = await compare(service, { permissions: ["read", "write"] });
    expect([refutedIn(report), report.stopped]).toEqual([[], null]);
    expect(report.removal).toEqual({ removed: 3, left: [], problem: null });
    expect(await recordsOf(service)).toEqual(before);
    expect(report.stats.requests).toBeLessThanOrEqual(200);
    expect(report.stats.rateLimited).toBe(0);
  });

  it.each(["stopped", "failed"])("a run with writes that is %s removes what it created", async (end) => {
    await using service = await startComparedService();
    const before = await recordsOf(service);
    const stopping = new AbortController();
    let stoppedAtMs = 0;
    const running = compare(service, {
      permissions: ["read", "write"],
      signal: stopping.signal,
      onObservation({ probe }) {
        if (probe !== "endpoint-change.create") return;
        stoppedAtMs = service.clock.now();
        if (end === "failed") throw new Error("the disk is full");
        stopping.abort();
      },
    });
    const report = await running.catch((error: unknown) => error);
    // A user who waits presses Ctrl-C again, which ends the process.
    expect(service.clock.now() - stoppedAtMs).toBeLessThan(1_000);
    expect(report).toMatchObject(
      end === "failed" ? { message: "the disk is full" } : { removal: { removed: 4, left: [] } },
    );
    expect(await recordsOf(service)).toEqual(before);
  });

  it("a run with writes on an unreliable service has no false alarm and leaves nothing behind", async () => {
    await using service = await startComparedService();
    const before = await recordsOf(service);
    let count = 0;
    const report = await compare(service, {
      permissions: ["read", "write"],
      limits: { requestsMax: 600, runTimeoutMs: 86_400_000 },
      around: (send) => async (url, init) => {
        count += 1;
        if (count % 7 === 0) await send(url, init);
        if (count % 7 === 0 || count % 10 === 0)
          throw new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) });
        return send(url, init);
      },
    });
    expect(refutedIn(report)).toEqual([]);
    expect(report.removal).toMatchObject({ left: [], problem: null });
    expect(await recordsOf(service)).toEqual(before);
  });

  it("endpoints that the service does not delete are listed", async () => {
    await using service = await startComparedService();
    const report = await compare(service, {
      permissions: ["read", "write"],
      around: (send) => async (url, init) =>
        String(init.body).includes("deleteWebhookEndpoint(")
          ? Response.json({ data: null, errors: [{ message: "Conflict", extensions: { code: "CONFLICT" } }] })
          : send(url, init),
    });
    expect(report.removal?.left).toContain("https://receiver.invalid/workspace-tasks-compare/test/plain");
    expect(renderTextReport(report)).toContain(
      "NOT removed, delete them in the web app: https://receiver.invalid/",
    );
  });

  it("a read-only run sends no mutation but token exchanges, and at most 200 requests", async () => {
    await using service = await startComparedService();
    const before = JSON.stringify((await service.mock.control.getSnapshot()).state);
    const { stats } = await compare(service);
    expect(await operationsOf(service)).toEqual(expect.arrayContaining(readOnlyOperations));
    expect(
      (await operationsOf(service)).filter((name) =>
        /^(create|update|delete|rotate|add|start|collect|initiate|trigger)/.test(name),
      ),
    ).toEqual([]);
    expect(JSON.stringify((await service.mock.control.getSnapshot()).state)).toBe(before);
    expect(stats.requests).toBeLessThanOrEqual(200);
  });

  it("a run next to another user of the key gets no 429", async () => {
    await using service = await startComparedService();
    const { mock, clock } = service;
    const { workspaceToken } = await mock.control.createTokens();
    let others = 0;
    // 75 requests a minute, with a new token before the old one expires.
    const another = async (bearer: string): Promise<void> => {
      others += 1;
      const next = others % 50 === 0 ? (await mock.control.createTokens()).workspaceToken : bearer;
      const response = await mock.fetch("/graphql", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${next}` },
        body: '{"query":"{ me { __typename } }"}',
      });
      expect(response.status).toBe(200);
      clock.schedule(800, () => void clock.track(another(next)));
    };
    await another(workspaceToken);
    const report = await compare(service);
    expect([report.stats.rateLimited, refutedIn(report)]).toEqual([0, []]);
    expect(others).toBeGreaterThan(50);
  });

  it("a slow, rate-limited and unreliable service has no refuted rule", async () => {
    await using service = await startComparedService({ settings: { rateLimit: { requests: 30 } } });
    let count = 0;
    const report = await compare(service, {
      limits: { requestsMax: 400, runTimeoutMs: 86_400_000 },
      around: (send) => async (url, init) => {
        count += 1;
        await service.clock.advance(count % 9 === 0 ? 9_000 : 400);
        if (count % 7 === 0)
          throw new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) });
        if (count % 11 === 0) return new Response("<html>Bad Gateway</html>", { status: 502 });
        if (count % 13 === 0) return new Response("", { status: 503 });
        return send(url, init);
      },
    });
    expect([refutedIn(report), report.stopped]).toEqual([[], null]);
    expect(report.stats.lost).toBeGreaterThan(10);
    expect(report.rules.filter(({ verdict }) => verdict === "confirmed").length).toBeGreaterThan(90);
  });

  it("a service that stops responding leaves rules that are not testable, and no refuted one", async () => {
    await using service = await startComparedService();
    let count = 0;
    const report = await compare(service, {
      around: (send) => async (url, init) => {
        count += 1;
        return count < 40 ? send(url, init) : new Response("", { status: 503 });
      },
    });
    expect(refutedIn(report)).toEqual([]);
    expect(report.rules.some(({ received }) => received.includes("503"))).toBe(true);
  });

  it("records and reports hold nothing that the service stores or issues", async () => {
    await using service = await startComparedService();
    const observations: Observation[] = [];
    const leak = changing(({ json, headers }) => {
      // A service that is careless in every place that a record could copy from.
      headers["x-request-id"] = "Miller-7345";
      headers["retry-after"] = "for Miller";
      json.data &&= { ...json.data, "Miller & Sons": "ssn 123-45-6789" };
      for (const error of json.errors ?? []) {
        error.message = `${error.message}; client Miller 4711 of ada@acme.example at 12 Elm Street, SSN 123-45-6789`;
        error.extensions = { code: "Miller", detail: "Miller" };
        error.path = ["Miller", 3];
      }
    }, service.keys);
    const report = await compare(service, { around: leak, onObservation: (each) => observations.push(each) });
    const outputs = [
      observations.map(observationLine).join(""),
      ...[renderTextReport, renderJsonReport, renderMarkdownReport, renderJunitReport].map((render) =>
        render(report),
      ),
      JSON.stringify(report.settings),
    ];
    const planted = ["Miller", "4711", "ada@", "acme", "Elm", "Street", "6789", "SSN"];
    const secrets = [...Object.values(service.keys), ...planted, ...(await textsStoredBy(service))];
    for (const output of outputs) {
      expect(secrets.filter((secret) => output.includes(secret))).toEqual([]);
      expect(output).not.toMatch(/eyJ[\w-]{8,}|whsec_\w+|[0-9a-f]{8}-[0-9a-f]{4}-7/);
    }
  });

  it("a record is evaluated again without the service", async () => {
    await using service = await startComparedService({ settings: { unauthenticatedStatus: 401 } });
    const observations: Observation[] = [];
    const report = await compare(service, { onObservation: (each) => observations.push(each) });
    const keys = [...plan.keys];
    const text =
      headerLine({ permissions: ["read"], keys, hasGateway: true, runId: "a1", service: null }) +
      observations.map(observationLine).join("");
    const record = parseRecord(`${text}{"probe":"cut of`);
    const replayed = await evaluateRecord(record.observations, plan);
    expect(replayed.rules).toEqual(report.rules);
    expect(refutedIn(replayed)).toEqual(["errors.unauthenticated-status"]);
  });

  it("an interrupted run ends with a partial report, and is resumed without repeating complete groups", async () => {
    await using service = await startComparedService();
    const earlier: Observation[] = [];
    const stopping = new AbortController();
    const partial = await compare(service, {
      signal: stopping.signal,
      onObservation(each) {
        earlier.push(each);
        if (each.probe === "endpoints.page-1") stopping.abort();
      },
    });
    expect([partial.stopped, refutedIn(partial)]).toEqual(["stopped", []]);
    const resumed: string[] = [];
    const report = await compare(service, { earlier, onObservation: ({ probe }) => resumed.push(probe) });
    expect([report.stopped, refutedIn(report)]).toEqual([null, []]);
    expect(resumed[0]).toBe("endpoints.list");
    const whole = await compare(service);
    expect(report.rules.map(({ verdict }) => verdict)).toEqual(whole.rules.map(({ verdict }) => verdict));
  });

  it("with the settings that a comparison has written, the mock does what the service did", async () => {
    const replaceWith = { code: "INVALID_CURSOR", message: "The cursor is invalid" };
    await using service = await startComparedService({
      settings: {
        tokenLifetimeSeconds: 300,
        unauthenticatedStatus: 401,
        bounds: { endpointPageItemsMax: 50, listItemsMax: 500 },
        errors: [
          { code: "BAD_USER_INPUT", message: "Invalid iterator", replaceWith },
          {
            code: "UNAUTHENTICATED",
            message: "Invalid refresh token",
            replaceWith: { message: "Invalid API key" },
          },
        ],
        tasks: { plans: { TAX_PREP: { mode: "timed", stages: [{ type: "intake", durationMs: 100 }] } } },
      },
    });
    const before = await compare(service);
    expect(refutedIn(before).length).toBeGreaterThan(6);
    expect(before.notExpressed).toEqual([]);
    expect(refutedIn(await compare(service, { settings: before.settings }))).toEqual([]);
  });
});

/** How many records of each kind there are. */
async function recordsOf({ mock }: ComparedService): Promise<Readonly<Record<string, number>>> {
  const { state } = await mock.control.getSnapshot();
  return Object.fromEntries(Object.entries(state).map(([noun, list]) => [noun, list.length]));
}

/** Names, addresses, ids and texts of every record, and every secret. */
async function textsStoredBy({ mock }: ComparedService): Promise<readonly string[]> {
  const { state } = await mock.control.getSnapshot();
  const texts = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === "string") texts.add(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect(state);
  // The service's own words, which a report is about.
  return [...texts].filter(
    (text) => text.length > 3 && /[^a-zA-Z_.-]/.test(text) && !/^F\d+\w?$|^l\d$/.test(text),
  );
}
