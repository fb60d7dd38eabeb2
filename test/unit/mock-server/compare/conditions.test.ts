import { describe, expect, it } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import { observeResponse } from "../../../../mock-server/compare/observe/observe-response.ts";
import { createPseudonyms } from "../../../../mock-server/compare/observe/redact-data.ts";
import { redactCode, redactMessage } from "../../../../mock-server/compare/observe/redact-message.ts";
import { observationLine } from "../../../../mock-server/compare/record.ts";
import type { CompareReport } from "../../../../mock-server/compare/report/compare-report.ts";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import {
  type ComparedService,
  type CompareInput,
  compare,
  startComparedService,
} from "../../../support/compared-service.ts";
import { type Change, changing } from "../../../support/planted-differences.ts";

const refutedIn = ({ rules }: CompareReport) =>
  rules.filter(({ verdict }) => verdict === "refuted").map(({ id }) => id);

const reasonOf = ({ rules }: CompareReport, rule: string) => rules.find(({ id }) => id === rule)?.received;

const writing = { permissions: ["read", "write"] } as const;
type Around = NonNullable<CompareInput["around"]>;

interface Claims {
  readonly iat: number;
  readonly exp: number;
}

/** Other claims in the tokens that the service issues; it gets its own ones back. */
function withClaims(
  { keys }: ComparedService,
  edit: (claims: Claims) => object,
  change: Change = () => {},
): Around {
  const original = new Map<string, string>();
  const edited = (token: string) => {
    const [head, payload = "", mac] = token.split(".");
    const claims = edit(JSON.parse(Buffer.from(payload, "base64url").toString("utf8")));
    const other = `${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${mac}`;
    original.set(`Bearer ${other}`, `Bearer ${token}`);
    return other;
  };
  return (send) => {
    const changed = changing((response, request) => {
      const { data } = response.json;
      const issued = data?.exchangeSurfaceRefreshTokenForAccessTokens ?? data?.loginViaPersonalApiToken ?? {};
      for (const name of Object.keys(issued)) if (name.endsWith("Token")) issued[name] = edited(issued[name]);
      change(response, request);
    }, keys)(send);
    return (url, init) => {
      const headers = new Headers(init.headers);
      const bearer = original.get(headers.get("authorization") ?? "");
      if (bearer) headers.set("authorization", bearer);
      return changed(url, { ...init, headers });
    };
  };
}

describe("compare with an equal service has no false alarm", () => {
  it("when the workspace is empty, and says what is missing", async () => {
    const clock = createVirtualClock();
    await using mock = await createMockServer({ listen: false, clock });
    const service = { mock, clock, keys: { admin: mock.apiKey } as never };
    const report = await compare(
      { ...service, [Symbol.asyncDispose]: async () => {} },
      { ...writing, keys: ["admin"] },
    );
    expect(refutedIn(report)).toEqual([]);
    expect(reasonOf(report, "tasks.filter-id")).toBe("the workspace has no task");
    expect(reasonOf(report, "endpoints.paging")).toBe("the workspace has fewer than two webhook endpoints");
  });

  it("when the workspace has many tasks, which make the default of a list testable", async () => {
    await using service = await startComparedService({ tasks: 60 });
    const report = await compare(service);
    expect([refutedIn(report), reasonOf(report, "tasks.default-limit")]).toEqual([[], "20"]);
  });

  it("when other users create tasks and endpoints during the run", async () => {
    await using service = await startComparedService();
    let sent = 0;
    const around: Around = (send) => async (url, init) => {
      sent += 1;
      if (sent % 2 === 0) await service.mock.control.startTask({ taskType: "BINDER" });
      const eventTypes = ["documents.synced"];
      if (sent % 3 === 0)
        await service.mock.control.createEndpoint({ url: `https://receiver.invalid/${sent}`, eventTypes });
      return send(url, init);
    };
    const report = await compare(service, { around });
    expect([refutedIn(report), reasonOf(report, "tasks.offset")]).toEqual([
      [],
      "the workspace's tasks changed during the run",
    ]);
  });

  it("when it sends one request a minute, so that tokens expire between requests", async () => {
    await using service = await startComparedService();
    const report = await compare(service, { limits: { requestsPerMinute: 1, runTimeoutMs: 86_400_000 } });
    expect(refutedIn(report)).toEqual([]);
    expect(report.stats.requests).toBeLessThanOrEqual(200);
  });

  it("when each response takes 14 s", async () => {
    await using service = await startComparedService();
    const around: Around = (send) => async (url, init) => {
      await service.clock.advance(7_000);
      const response = await send(url, init);
      await service.clock.advance(7_000);
      return response;
    };
    expect(refutedIn(await compare(service, { around, limits: { runTimeoutMs: 86_400_000 } }))).toEqual([]);
  });

  it.each(["admin's key is read-only", "admin's key is of a member"])("when the %s", async (kind) => {
    await using service = await startComparedService();
    const { apiKey } = await service.mock.control.createApiKey({ role: "l1" });
    const admin = kind.endsWith("read-only") ? service.keys.readOnly : apiKey;
    const keys = { ...service.keys, admin };
    const report = await compare({ ...service, keys }, { ...writing, keys: ["admin", "partner"] });
    expect(refutedIn(report)).toEqual([]);
    expect(reasonOf(report, "endpoints.limit-0")).toMatch(/^the key may not do this: /);
  });

  it("when its clock is an hour ahead and its tokens do not say when they were issued", async () => {
    await using service = await startComparedService();
    const around = withClaims(
      service,
      ({ iat: _, exp, ...claims }) => ({ ...claims, exp: exp + 3_600 }),
      ({ headers }) => {
        headers["date"] = new Date(service.clock.now() + 3_600_000).toUTCString();
      },
    );
    expect(refutedIn(await compare(service, { around }))).toEqual([]);
  });

  it("when it takes no document with several operations", async () => {
    await using service = await startComparedService();
    const around: Around = (send) => async (url, init) =>
      String(init.body).includes("query Check")
        ? Response.json({ errors: [{ message: "Only one operation", extensions: { code: "BAD_REQUEST" } }] })
        : send(url, init);
    const report = await compare(service, { ...writing, around });
    expect(refutedIn(report)).toEqual([]);
    expect(reasonOf(report, "drift.CreateJobWorks")).toBe("the request was rejected with BAD_REQUEST");
  });

  it("when it issues longer tokens than asked for, none of which expires during the run", async () => {
    await using service = await startComparedService();
    const around: Around = (send) => (url, init) => {
      const body = String(init.body).replace('"expiresInSeconds":3', '"expiresInSeconds":60');
      return send(url, typeof init.body === "string" ? { ...init, body } : init);
    };
    const report = await compare(service, { around });
    expect([refutedIn(report), reasonOf(report, "tokens.expired")]).toEqual([
      [],
      "the service issued a longer token than asked for",
    ]);
  });
});

/** Lets so many requests pass. */
const afterRequests =
  (count: number, respond: () => Response): Around =>
  (send) => {
    let sent = 0;
    return async (url, init) => {
      sent += 1;
      return sent > count ? respond() : send(url, init);
    };
  };

describe("compare with a service in trouble", () => {
  const limited = (retryAfter: string) => () =>
    Response.json({ errors: [{ message: "x" }] }, { status: 429, headers: { "retry-after": retryAfter } });

  it("ends when the service wants a wait of a day, without another request", async () => {
    await using service = await startComparedService();
    const report = await compare(service, { around: afterRequests(20, limited("86400")) });
    expect(report.stopped).toBe("the service wants a wait of 86400 s before the next request");
    expect([report.stats.requests, refutedIn(report)]).toEqual([21, []]);
  });

  it("names the rate limit when the first request gets a 429", async () => {
    await using service = await startComparedService();
    const date = new Date(service.clock.now() + 86_400_000).toUTCString();
    const { problem } = await compare(service, { around: afterRequests(0, limited(date)) });
    expect(problem).toMatchObject({ cause: "rate-limit", message: "--base-url: the rate limit is exceeded" });
  });

  it("ends when five probes in a row have no response", async () => {
    await using service = await startComparedService();
    const around = afterRequests(20, () => new Response(null, { status: 502 }));
    const report = await compare(service, { around });
    expect(report.stopped).toMatch(/^5 probes in a row had no response: the service responded 502/);
    expect(report.stats.lost).toBe(15);
  });

  it("stops reading a response without an end", async () => {
    await using service = await startComparedService();
    let chunks = 0;
    const endless = () =>
      new ReadableStream({
        pull(controller) {
          chunks += 1;
          controller.enqueue(new Uint8Array(1_048_576));
        },
      });
    const { problem } = await compare(service, { around: afterRequests(0, () => new Response(endless())) });
    expect(problem).toMatchObject({
      cause: "not-this-service",
      received: expect.stringContaining("more than"),
    });
    expect(chunks).toBeLessThan(12);
  });

  it("waits for the next window when a small limit is nearly used up, and not before", async () => {
    await using service = await startComparedService();
    const startedAtMs = service.clock.now();
    const around = changing(({ headers }) => {
      headers["ratelimit"] = "limit=10, remaining=5, reset=300";
    }, service.keys);
    const { stopped } = await compare(service, { around });
    expect([stopped, service.clock.now() - startedAtMs < 200_000]).toEqual([null, true]);
  });

  it("keeps its results when a service's fact is outside of what settings can express", async () => {
    await using service = await startComparedService();
    const around = withClaims(service, (claims) => ({ ...claims, exp: claims.exp + 20 * 365 * 86_400 }));
    const report = await compare(service, { around });
    expect([report.settings, report.notExpressed]).toEqual([{}, expect.arrayContaining(["tokens.lifetime"])]);
  });
});

describe("redaction", () => {
  it.each([
    ["Limit must be between 1 and 100", "Limit must be between 1 and 100"],
    ["expected a maximum of 50 items", "expected a maximum of 50 items"],
    ["Client of 4711 is closed", "Client of … is closed"],
    ["account belongs to 123456", "account … to …"],
    ["Client Grace Page not found", "Client … not found"],
    ["one\u2028two\u001b[31m", "one …[…"],
  ])("the message %j becomes %j", (message, expected) => {
    expect(redactMessage(message)).toBe(expected);
  });

  it.each([
    ["INVALID_CURSOR", "INVALID_CURSOR"],
    ["MILLER_JOHN_NOT_FOUND", "…_NOT_FOUND"],
    ["MILLER", "…"],
  ])("the code %j becomes %j", (code, expected) => {
    expect(redactCode(code)).toBe(expected);
  });

  it("a message that names a number in parentheses is no stack trace", () => {
    const context = {
      router: "base",
      document: null,
      pseudonyms: createPseudonyms(0),
      sent: new Set<string>(),
      nowMs: 0,
    } as const;
    const json = { errors: [{ message: "at least (1), at most (100)" }] };
    const { errors } = observeResponse({ status: 200, headers: new Headers(), text: "", json }, context);
    expect(errors?.[0]?.leaks).toBe(false);
  });

  it("a key that looks like a word of the service is in no observation", async () => {
    await using service = await startComparedService();
    const lines: string[] = [];
    const keys = {
      ...service.keys,
      expired: "wt-expired.key",
      revoked: "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
    };
    await compare(
      { ...service, keys },
      {
        onObservation: (observation) => lines.push(observationLine(observation)),
        around: changing(({ json }) => {
          const { workspace } = json.data?.me ?? {};
          if (workspace) workspace.status = keys.expired;
          for (const client of workspace?.clients ?? []) client.status = keys.revoked;
          for (const task of workspace?.tasks ?? []) task.type = keys.expired;
          for (const error of json.errors ?? []) error.message = `Invalid ${keys.expired}`;
        }, service.keys),
      },
    );
    expect(lines.join("")).toContain("…");
    expect(Object.values(keys).filter((key) => lines.join("").includes(key))).toEqual([]);
  });
});
