import { describe, expect, it } from "vitest";
import type { SettingsChanges } from "workspace-tasks/mock-server";
import { createMockServer } from "workspace-tasks/mock-server";
import type { CapturedDelivery } from "../../../../mock-server/compare/observe/observe-delivery.ts";
import type { CompareReport } from "../../../../mock-server/compare/report/compare-report.ts";
import { endpointPaths, responseTo } from "../../../../mock-server/compare/run/await-deliveries.ts";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import { type CompareInput, compare, startComparedService } from "../../../support/compared-service.ts";

const refutedIn = ({ rules }: CompareReport) =>
  rules.filter(({ verdict }) => verdict === "refuted").map(({ id }) => id);

const confirmedIn = ({ rules }: CompareReport, subject: string) =>
  rules.filter(({ id, verdict }) => id.startsWith(subject) && verdict === "confirmed").map(({ id }) => id);

type Around = NonNullable<CompareInput["around"]>;

async function exceed(around?: Around, settings: SettingsChanges = {}) {
  await using service = await startComparedService({ settings });
  const permissions = ["read", "exceed"] as const;
  return compare(service, { permissions, ...(around ? { around } : {}) });
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
    expect(report.assumptions.filter(({ id }) => id === "A-5" || id === "A-20")).toMatchObject([
      { verdict: "confirmed", partly: false },
      { verdict: "confirmed", partly: false },
    ]);
    expect(report.stats.requests).toBeLessThan(400);
    await using service = await startComparedService();
    const without = await compare(service);
    expect(without.stats.rateLimited).toBe(0);
    expect(without.assumptions.find(({ id }) => id === "A-5")).toMatchObject({
      verdict: "not-testable",
      note: "needs --exceed-rate-limit",
    });
  });

  it("a fixed window of another size is written as settings with which the mock does the same", async () => {
    const report = await exceed(undefined, { rateLimit: { window: "fixed", requests: 100 } });
    expect(refutedIn(report)).toEqual(["rate-limit.requests", "rate-limit.window"]);
    expect([report.settings, report.notExpressed]).toEqual([
      { rateLimit: { window: "fixed", requests: 100 } },
      [],
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
  /** What the service does instead of an update with these fields; `null`: as it should. */
  readonly ignores?: (input: Readonly<Record<string, unknown>>) => boolean;
  /** Changes what the receiver has captured. */
  readonly captured?: (deliveries: readonly CapturedDelivery[]) => readonly CapturedDelivery[];
  readonly forMs?: number;
}

async function awaitWith({ ignores = () => false, captured = (all) => all, forMs = 900_000 }: Changing = {}) {
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
  // A user starts tasks while the run waits.
  for (const atMs of [190_000, 230_000])
    clock.schedule(atMs, () => void mock.control.startTask({ taskType: "TAX_PREP" }));
  const report = await compare(
    { mock, clock, keys: { admin: mock.apiKey } as never, [Symbol.asyncDispose]: async () => {} },
    {
      permissions: ["read", "write"],
      keys: ["admin"],
      limits: { requestsPerMinute: 100 },
      listening: { publicUrl, forMs, captured: () => captured(deliveries) },
      around: (send) => async (url, init) => {
        const { query = "", variables } = typeof init.body === "string" ? readJson(init.body) : {};
        if (query.includes("updateWebhookEndpoint(") && ignores(variables?.input ?? {}))
          return Response.json({ data: { updateWebhookEndpoint: { id: "1" } } });
        return send(url, init);
      },
    },
  );
  expect((await mock.control.listEndpoints()).data).toEqual([]);
  return report;
}

interface SentBody {
  readonly query?: string;
  readonly variables?: { readonly input?: Readonly<Record<string, unknown>> };
}

function readJson(text: string): SentBody {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

describe("compare with deliveries to a public URL", () => {
  it("an equal service confirms A-12 and A-29, and every endpoint of the run is removed", async () => {
    const report = await awaitWith();
    expect(refutedIn(report)).toEqual([]);
    expect(confirmedIn(report, "changes.")).toHaveLength(5);
    expect(confirmedIn(report, "deliveries.")).toContain("deliveries.signature");
    expect(report.assumptions.filter(({ id }) => id === "A-12" || id === "A-29")).toMatchObject([
      { verdict: "confirmed", partly: false },
      { verdict: "confirmed", partly: false },
    ]);
  });

  const isPause = ({ enabled }: Readonly<Record<string, unknown>>) => enabled === false;
  const isEnable = ({ enabled, url }: Readonly<Record<string, unknown>>) => enabled === true && Boolean(url);

  it.each<[string, string, Changing]>([
    [
      "delivers to a paused endpoint",
      "changes.paused",
      { ignores: (input) => isPause(input) && !input["url"] },
    ],
    ["discards pending deliveries", "changes.pending", { ignores: isEnable }],
    [
      "discards deliveries of events that are not subscribed any more",
      "changes.unsubscribed",
      { ignores: isEnable },
    ],
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
      {
        captured: (all) => [
          ...all,
          ...all
            .filter(({ path }) => path === endpointPaths.plain)
            .map((each) => ({
              ...each,
              path: endpointPaths.moved,
              receivedAtMs: each.receivedAtMs + 300_000,
            })),
        ],
      },
    ],
  ])("a service that %s is refuted by %s", async (_, rule, changing) => {
    expect(refutedIn(await awaitWith(changing))).toContain(rule);
  });

  it("no delivery makes the rules not testable, with what to do", async () => {
    const report = await awaitWith({ forMs: 60_000 });
    expect(refutedIn(report)).toEqual([]);
    expect(report.assumptions.find(({ id }) => id === "A-12")?.note).toContain("start a task in the web app");
  });

  it("a URL that the service does not register is named with its error", async () => {
    await using service = await startComparedService();
    const listening = { publicUrl: "http://tunnel.example", forMs: 60_000, captured: () => [] };
    const report = await compare(service, { permissions: ["read", "write"], listening });
    expect(refutedIn(report)).toEqual([]);
    const reason =
      'the service did not register the endpoint for --deliveries: BAD_USER_INPUT "Webhook endpoint url must be an HTTPS URL"';
    const found = report.rules.filter(({ id }) => id === "deliveries.signature" || id === "changes.url");
    expect(found.map(({ received }) => received)).toEqual([reason, reason]);
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
    expect(report.rules.find(({ id }) => id === "deliveries.names")?.received).toBe("the connection failed");
    expect(report.removal).toMatchObject({ left: [], problem: null });
  });
});
