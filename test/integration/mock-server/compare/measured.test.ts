import { describe, expect, it } from "vitest";
import type { SettingsChanges } from "workspace-tasks/mock-server";
import { createMockServer } from "workspace-tasks/mock-server";
import type { CapturedDelivery } from "../../../../mock-server/compare/observe/observe-delivery.ts";
import type { CompareReport } from "../../../../mock-server/compare/report/compare-report.ts";
import { endpointPaths, responseTo } from "../../../../mock-server/compare/run/await-deliveries.ts";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import {
  type Around,
  compare,
  idsOf,
  reasonOf,
  refutedIn,
  startComparedService,
} from "../../../support/compared-service.ts";

const confirmedIn = (report: CompareReport, subject: string) =>
  idsOf(report, "confirmed").filter((id) => id.startsWith(subject));

const verdictsOf = ({ assumptions }: CompareReport, ...ids: readonly string[]) =>
  assumptions.filter(({ id }) => ids.includes(id)).map(({ verdict, partly }) => [verdict, partly]);

async function exceed(around?: Around, ofService: SettingsChanges = {}, settings: SettingsChanges = {}) {
  await using service = await startComparedService({ settings: ofService });
  const permissions = ["read", "exceed"] as const;
  return compare(service, { permissions, settings, ...(around ? { around } : {}) });
}

/** Changes responses from the first 429 on. */
const onceRejected =
  (change: (response: Response, url: string, body: string) => Response): Around =>
  (send) => {
    let isRejected = false;
    return async (url, init) => {
      const response = await send(url, init);
      isRejected ||= response.status === 429;
      return isRejected ? change(response, url, String(init.body)) : response;
    };
  };

const rejection = (seconds = 5) =>
  Response.json(
    { errors: [{ message: "Too many requests", extensions: { code: "RATE_LIMITED" } }] },
    { status: 429, headers: { "retry-after": String(seconds) } },
  );

const isMeOfGateway = (url: string, body: string) => url.includes("/gateway/") && body.includes("{ me {");

const accepted = () => Response.json({ data: { me: { __typename: "WorkspaceUser" } } });

describe("compare with --exceed-rate-limit", () => {
  it("an equal service confirms A-5 and A-20, and without the flag nothing gets a 429", async () => {
    const report = await exceed();
    expect(refutedIn(report)).toEqual([]);
    expect(confirmedIn(report, "rate-limit.")).toHaveLength(8);
    expect(verdictsOf(report, "A-5", "A-20")).toEqual(Array(2).fill(["confirmed", false]));
    expect(report.stats.requests).toBeLessThan(400);
    await using service = await startComparedService();
    const without = await compare(service);
    expect(without.stats.rateLimited).toBe(0);
    expect(without.assumptions.find(({ id }) => id === "A-5")).toMatchObject({
      verdict: "not-testable",
      note: "needs --exceed-rate-limit",
    });
  });

  it.each<[SettingsChanges["rateLimit"], readonly string[]]>([
    [{ window: "fixed", requests: 100 }, ["rate-limit.requests", "rate-limit.window"]],
    [{ requests: 240 }, ["rate-limit.requests"]],
    [{ requests: 80 }, ["rate-limit.requests"]],
  ])("the limit %j of a service is found, and written as a setting of the mock", async (rateLimit, rules) => {
    const report = await exceed(undefined, { rateLimit });
    expect(refutedIn(report)).toEqual(rules);
    expect([report.settings, report.notExpressed]).toEqual([{ rateLimit }, []]);
  });

  it.each([20, 240, 600])("a limit of %d that the mock is set to is confirmed", async (requests) => {
    const settings = { rateLimit: { requests } };
    const report = await exceed(undefined, settings, settings);
    expect([refutedIn(report), confirmedIn(report, "rate-limit.")]).toEqual([
      [],
      expect.objectContaining({ length: 8 }),
    ]);
  });

  it.each<[string, string, Around]>([
    [
      "counts the exchange",
      "rate-limit.exchange",
      onceRejected((response, _, body) => (body.includes("xchange") ? rejection() : response)),
    ],
    [
      "counts calls of the gateway apart",
      "rate-limit.gateway",
      onceRejected((response, url, body) => (isMeOfGateway(url, body) ? accepted() : response)),
    ],
    [
      "counts a partner's calls on the workspace's key",
      "rate-limit.partner",
      onceRejected((response, url, body) => (isMeOfGateway(url, body) ? rejection() : response)),
    ],
    [
      "has another code",
      "rate-limit.rejection",
      onceRejected((response) =>
        response.status === 429
          ? Response.json(
              { errors: [{ message: "Too many requests", extensions: { code: "LIMIT_EXCEEDED" } }] },
              { status: 429, headers: response.headers },
            )
          : response,
      ),
    ],
    [
      "states a wait that is too short",
      "rate-limit.retry-after",
      onceRejected((response) => (response.status === 429 ? rejection() : response)),
    ],
  ])("a service that %s is refuted by %s", async (_, rule, around) => {
    expect(refutedIn(await exceed(around))).toContain(rule);
  });

  it("a service that counts rejected requests is refuted by rate-limit.rejected-calls", async () => {
    const service = await startComparedService();
    const sentAtMs: number[] = [];
    const report = await compare(service, {
      permissions: ["read", "exceed"],
      around: (send) => async (url, init) => {
        const nowMs = service.clock.now();
        if (String(init.body).includes("xchange") || !new Headers(init.headers).has("authorization"))
          return send(url, init);
        while (sentAtMs[0] !== undefined && sentAtMs[0] <= nowMs - 60_000) sentAtMs.shift();
        sentAtMs.push(nowMs);
        const leavesMs = (sentAtMs.at(-120) ?? nowMs) + 60_000 - nowMs;
        return sentAtMs.length > 120 ? rejection(Math.ceil(leavesMs / 1_000)) : send(url, init);
      },
    });
    await service.mock.close();
    expect(refutedIn(report)).toContain("rate-limit.rejected-calls");
  });

  it("another user of the key makes it not testable, and not refuted", async () => {
    await using service = await startComparedService();
    let sent = 0;
    const report = await compare(service, {
      permissions: ["read", "exceed"],
      around: (send) => async (url, init) => {
        sent += 1;
        return sent > 100 && String(init.body).includes("{ me { __typename } }")
          ? rejection()
          : send(url, init);
      },
    });
    expect(refutedIn(report)).toEqual([]);
    expect(report.assumptions.find(({ id }) => id === "A-5")?.note).toContain("another user of the key");
  });
});

interface Changing {
  /** Part of the updates that the service ignores. */
  readonly ignores?: string;
  /** Changes what the receiver has captured. */
  readonly captured?: (deliveries: readonly CapturedDelivery[]) => readonly CapturedDelivery[];
  readonly forMs?: number;
}

async function awaitWith({ ignores, captured = (all) => all, forMs = 900_000 }: Changing = {}) {
  const clock = createVirtualClock();
  const publicUrl = "https://tunnel.example/hooks";
  const deliveries: CapturedDelivery[] = [];
  const receiver = (path: string) => async (request: Request) => {
    const body = Buffer.from(await request.arrayBuffer());
    const headers = Object.fromEntries(request.headers);
    const responded = responseTo({ headers, path }, deliveries);
    deliveries.push({ receivedAtMs: clock.now(), headers, body, path, responded });
    return new Response(null, { status: responded });
  };
  const mark = "/workspace-tasks-compare/test/";
  const receivers = new Map(
    Object.values(endpointPaths).map((path) => [publicUrl + mark + path, receiver(path)]),
  );
  await using mock = await createMockServer({ listen: false, clock, receivers, deliverOnly: "loopback" });
  let isWaiting = false;
  /** A user starts tasks while the run waits. */
  const startTasks = () => {
    if (isWaiting) return;
    isWaiting = true;
    for (const afterMs of [10_000, 50_000])
      clock.schedule(afterMs, () => void mock.control.startTask({ taskType: "TAX_PREP" }));
  };
  const report = await compare(
    { mock, clock, keys: { admin: mock.apiKey }, [Symbol.asyncDispose]: async () => {} },
    {
      permissions: ["read", "write"],
      listening: {
        publicUrl,
        forMs,
        captured() {
          startTasks();
          return captured(deliveries);
        },
      },
      around: (send) => async (url, init) => {
        const body = String(init.body);
        const isIgnored =
          body.includes("updateWebhookEndpoint(") && ignores !== undefined && body.includes(ignores);
        return isIgnored ? Response.json({ data: { updateWebhookEndpoint: { id: "1" } } }) : send(url, init);
      },
    },
  );
  expect((await mock.control.listEndpoints()).data).toEqual([]);
  return report;
}

describe("compare with deliveries to a public URL", () => {
  it("an equal service confirms A-12 and A-29, and every endpoint of the run is removed", async () => {
    const report = await awaitWith();
    expect(refutedIn(report)).toEqual([]);
    expect(confirmedIn(report, "changes.")).toHaveLength(5);
    expect(confirmedIn(report, "deliveries.")).toContain("deliveries.signature");
    expect(verdictsOf(report, "A-12", "A-29")).toEqual(Array(2).fill(["confirmed", false]));
  });

  /** Enabled, moved and unsubscribed at once. */
  const enabling = '"enabled":true,"url"';
  const moved = (each: CapturedDelivery) => ({
    ...each,
    path: endpointPaths.moved,
    receivedAtMs: each.receivedAtMs + 300_000,
  });

  it.each<[string, string, Changing]>([
    ["delivers to a paused endpoint", "changes.paused", { ignores: '"enabled":false' }],
    ["discards pending deliveries", "changes.pending", { ignores: enabling }],
    ["discards what is not subscribed any more", "changes.unsubscribed", { ignores: enabling }],
    [
      "sends a retry to the URL of its first attempt",
      "changes.url",
      {
        captured: (all) =>
          all.map((each) =>
            each.path === endpointPaths.moved ? { ...each, path: endpointPaths.changing } : each,
          ),
      },
    ],
    [
      "delivers later what a paused endpoint missed",
      "changes.missed-events",
      { captured: (all) => [...all, ...all.filter(({ path }) => path === endpointPaths.plain).map(moved)] },
    ],
  ])("a service that %s is refuted by %s", async (_, rule, changing) => {
    expect(refutedIn(await awaitWith(changing))).toContain(rule);
  });

  it("no delivery makes the rules not testable, with what to do", async () => {
    const report = await awaitWith({ forMs: 5_000 });
    expect(refutedIn(report)).toEqual([]);
    expect(report.assumptions.find(({ id }) => id === "A-12")?.note).toContain("start a task in the web app");
  });

  it("a URL that the service does not register is named with its error", async () => {
    await using service = await startComparedService();
    const listening = { publicUrl: "http://tunnel.example", forMs: 60_000, captured: () => [] };
    const report = await compare(service, { permissions: ["read", "write"], listening });
    expect(refutedIn(report)).toEqual([]);
    for (const rule of ["deliveries.signature", "changes.url"])
      expect(reasonOf(report, rule)).toMatch(/BAD_USER_INPUT "Webhook endpoint url must be an HTTPS URL"$/);
  });

  it("a connection that is lost while an endpoint is registered ends in a report", async () => {
    await using service = await startComparedService();
    const listening = { publicUrl: "https://tunnel.example", forMs: 60_000, captured: () => [] };
    const report = await compare(service, {
      permissions: ["read", "write"],
      listening,
      around: (send) => async (url, init) => {
        if (String(init.body).includes("tunnel.example")) throw new TypeError("fetch failed");
        return send(url, init);
      },
    });
    expect(reasonOf(report, "deliveries.names")).toBe("the connection failed");
    expect(report.removal).toMatchObject({ left: [], problem: null });
  });
});
