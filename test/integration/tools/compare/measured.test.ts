import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import type { CompareReport } from "../../../../mock-server/tools/compare/report/compare-report.ts";
import {
  type Around,
  compare,
  differencesIn,
  idsOf,
  startComparedService,
} from "../../../support/compared-service.ts";

const confirmedIn = (report: CompareReport, subject: string) =>
  idsOf(report, "confirmed").filter((id) => id.startsWith(subject));

const verdictsOf = ({ assumptions }: CompareReport, ...ids: readonly string[]) =>
  assumptions.filter(({ id }) => ids.includes(id)).map(({ verdict, partly }) => [verdict, partly]);

async function exceed(around?: Around, ofService: SettingsChanges = {}, settings: SettingsChanges = {}) {
  await using service = await startComparedService({ settings: ofService });
  const permissions = ["read", "exceed"] as const;
  return await compare(service, { permissions, settings, ...(around ? { around } : {}) });
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
    expect(differencesIn(report)).toEqual([]);
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
    expect(differencesIn(report)).toEqual(rules);
    expect([report.settings, report.notExpressed]).toEqual([{ rateLimit }, []]);
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
  ])("a service that %s is refuted by %s", async (_, rule, around) => {
    expect(differencesIn(await exceed(around))).toContain(rule);
  });

  it("a wait of days that a 429 states is not waited for, and is a difference", async () => {
    await using service = await startComparedService();
    const startMs = service.clock.now();
    const report = await compare(service, {
      permissions: ["read", "exceed"],
      around: onceRejected((response) => (response.status === 429 ? rejection(999_999) : response)),
    });
    expect(differencesIn(report)).toContain("rate-limit.retry-after");
    expect(service.clock.now() - startMs).toBeLessThan(20 * 60_000);
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
    expect(differencesIn(report)).toContain("rate-limit.rejected-calls");
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
    expect(differencesIn(report)).toEqual([]);
    expect(report.assumptions.find(({ id }) => id === "A-5")?.note).toContain("another user of the key");
  });
});
