import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { CreateClientOptions } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { codeOf, outcomeOf } from "../../../support/outcome-of.ts";
import { createScriptedService, type ReceivedRequest } from "../../../support/scripted-service.ts";
import { rawTask } from "./raw-task.ts";

const idOf = (number: number) => `0197f0c2-1b3d-7000-8000-${String(number).padStart(12, "0")}`;
const goodIds = (count: number) => Array.from({ length: count }, (_, index) => idOf(index));
const badId = idOf(999_999);

const errorResponse = (message: string, code: string, status = 200, data: unknown = null) =>
  Response.json({ data, errors: [{ message, path: ["me"], extensions: { code } }] }, { status });
const rejections = {
  "an input error": () => errorResponse('invalid input syntax for type uuid: "x"', "BAD_USER_INPUT"),
  "a lost permission": () => errorResponse("Unauthorized", "FORBIDDEN"),
  "an error without a known code": () => errorResponse("cannot read the task", "TASK_UNREADABLE"),
};
const breakdowns = {
  "an internal error": () => errorResponse("Internal server error", "INTERNAL_SERVER_ERROR"),
  "a status of 500": () => errorResponse("Internal server error", "INTERNAL_SERVER_ERROR", 500),
  "a 500 without GraphQL": () => new Response("oops", { status: 500 }),
  "a page in place of JSON": () => new Response("<html>", { headers: { "content-type": "text/html" } }),
};

const taskOf = (id: string, isDone: boolean) => rawTask(id, isDone ? "COMPLETED" : "RUNNING");
const tasksData = (tasks: readonly unknown[]) => ({
  me: { __typename: "WorkspaceUser", workspace: { tasks } },
});

interface WorldOptions extends Partial<CreateClientOptions> {
  readonly doneAtMs?: number;
  /** Whether a request for these ids gets the response of `respond`. Default: one for the bad id. */
  readonly isBad?: (ids: readonly string[]) => boolean;
}

/** A client of a service that responds to some requests with `respond`, and whose tasks are done after 20 s. */
function setUp(respond: (ids: readonly string[]) => Response, world: WorldOptions = {}) {
  const { doneAtMs = 20_000, isBad = (ids) => ids.includes(badId), ...options } = world;
  const clock = createVirtualClock();
  const requests: { readonly ids: readonly string[]; readonly atMs: number }[] = [];
  const poll = ({ variables }: ReceivedRequest) => {
    const { ids } = (variables as { filters: { ids: readonly string[] } }).filters;
    requests.push({ ids, atMs: clock.monotonic() });
    if (isBad(ids)) return respond(ids);
    return Response.json({ data: tasksData(ids.map((id) => taskOf(id, clock.monotonic() >= doneAtMs))) });
  };
  const { client } = createScriptedService([poll], { clock, random: () => 0.5, ...options });
  const { waitFor } = client.tasks;
  return {
    clock,
    client,
    requests,
    waitFor,
    /** How many of these waits resolve, and the code of each other. */
    async outcomes(ids: readonly string[], deadlineMs = 120_000) {
      const waits = Promise.all(ids.map((id) => codeOf(waitFor(id, { deadlineMs }))));
      const codes = await clock.runUntil(waits);
      return {
        resolved: codes.filter((code) => code === "no error").length,
        codes: codes.filter((code) => code !== "no error"),
      };
    },
  };
}

const perMinuteMax = 120 / 4;

describe("waits of which one task makes the service fail", () => {
  it.each(Object.entries(rejections))(
    "five waits resolve, and the sixth fails at once, when its id alone causes %s",
    async (_, respond) => {
      const { outcomes, requests, clock } = setUp(respond);
      const { resolved, codes } = await outcomes([...goodIds(5), badId]);
      expect(resolved).toBe(5);
      expect(codes).toHaveLength(1);
      expect(codes[0]).toMatch(/^(INPUT_INVALID|PERMISSION_DENIED|GRAPHQL_ERROR)$/);
      expect(clock.monotonic()).toBeLessThan(40_000);
      expect(requests.length).toBeLessThanOrEqual(12);
    },
  );

  it.each(Object.entries(breakdowns))(
    "five waits resolve, and the sixth ends with its deadline, when its id alone causes %s",
    async (_, respond) => {
      const { outcomes, requests, waitFor, clock } = setUp(respond);
      const bad = outcomeOf(waitFor(badId, { deadlineMs: 120_000 }));
      expect(await outcomes(goodIds(5), 60_000)).toEqual({ resolved: 5, codes: [] });
      expect(clock.monotonic()).toBeLessThan(45_000);
      expect(await clock.runUntil(bad)).toMatchObject({
        code: "DEADLINE_EXCEEDED",
        cause: { code: expect.stringMatching(/^(SERVICE_FAILED|SERVICE_UNAVAILABLE|RESPONSE_INVALID)$/) },
      });
      expect(requests.length).toBeLessThanOrEqual(24);
    },
  );

  it("five waits resolve when the service always lists null among the tasks", async () => {
    const withNull = (ids: readonly string[]) =>
      Response.json({ data: tasksData([null, ...ids.map((id) => taskOf(id, true))]) });
    const { outcomes, requests } = setUp(withNull, { isBad: () => true });
    expect(await outcomes(goodIds(5))).toEqual({ resolved: 5, codes: [] });
    expect(requests).toHaveLength(1);
  });

  it("one bad task of 100 is found with at most 20 requests, the others are polled together again", async () => {
    const { waitFor, requests, clock, client } = setUp(rejections["an input error"], {
      doneAtMs: 200_000,
    });
    const others = goodIds(99).map((id) => codeOf(waitFor(id)));
    expect(await clock.runUntil(codeOf(waitFor(badId)))).toBe("INPUT_INVALID");
    expect(requests.length).toBeLessThanOrEqual(20);
    await clock.advance(60_000);
    expect(requests.at(-1)?.ids).toHaveLength(99);
    await client.close();
    expect(new Set(await Promise.all(others))).toEqual(new Set(["CLIENT_CLOSED"]));
  });

  it("100 waits that all fail cost about two requests each, within a quarter of the rate limit", async () => {
    const { outcomes, requests, clock } = setUp(rejections["an input error"], { isBad: () => true });
    expect((await outcomes(goodIds(100), 900_000)).codes).toEqual(Array(100).fill("INPUT_INVALID"));
    expect(requests.length).toBeLessThanOrEqual(210);
    expect(requests.length).toBeLessThanOrEqual((clock.monotonic() / 60_000) * perMinuteMax + 2);
  });

  it("waits stay together while the token is rejected", async () => {
    const { outcomes, requests } = setUp(() => new Response("", { status: 401 }), { isBad: () => true });
    const { codes } = await outcomes(goodIds(6), 3_000);
    expect(new Set(codes)).toEqual(new Set(["DEADLINE_EXCEEDED"]));
    expect(requests.every(({ ids }) => ids.length === 6)).toBe(true);
  });

  it.each([502, 503, 504])("waits stay together while the service responds with %i", async (status) => {
    const { outcomes, requests } = setUp(() => new Response("", { status }), { isBad: () => true });
    const { codes } = await outcomes(goodIds(6), 60_000);
    expect(new Set(codes)).toEqual(new Set(["DEADLINE_EXCEEDED"]));
    expect(requests.map(({ ids }) => ids.length)).toEqual(requests.map(() => 6));
    expect(requests.length).toBeLessThanOrEqual(7);
  });

  it("waits are polled again after the Retry-After of the service", async () => {
    const unavailable = () => new Response("", { status: 503, headers: { "retry-after": "50" } });
    const { outcomes, requests, clock } = setUp(unavailable, { isBad: () => clock.monotonic() < 50_000 });
    expect((await outcomes(goodIds(2))).resolved).toBe(2);
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 50_000]);
  });
});

describe("a wait for an id that is no id of a task", () => {
  it.each(["not-a-uuid", "", "0197f0c2-1b3d-7000-8000-00000000000g", 7])(
    "a wait for %j fails without a request and harms no other wait",
    async (wrong) => {
      const { outcomes, waitFor, requests } = setUp(rejections["an input error"]);
      const failed = outcomeOf(waitFor(wrong as string));
      expect(await outcomes(goodIds(5))).toEqual({ resolved: 5, codes: [] });
      expect(await failed).toMatchObject({
        code: "ARGUMENT_INVALID",
        message: expect.stringMatching(/^tasks\.waitFor: expected the id of a task, a UUID, got a/),
      });
      expect(requests.flatMap(({ ids }) => ids)).not.toContain(wrong);
    },
  );

  it("a wait finds a task whose id is given in upper case", async () => {
    const { outcomes } = setUp(rejections["an input error"]);
    expect(await outcomes([idOf(1).toUpperCase()])).toEqual({ resolved: 1, codes: [] });
  });
});

describe("errors on a field that may be null", () => {
  it("a wait for a completed task resolves with its first poll", async () => {
    const { outcomes, requests } = setUp(
      (ids) => errorResponse("no user", "NOT_FOUND", 200, tasksData(ids.map((id) => taskOf(id, true)))),
      { isBad: () => true },
    );
    expect(await outcomes(goodIds(2))).toEqual({ resolved: 2, codes: [] });
    expect(requests).toHaveLength(1);
  });

  it("a wait for a task that the partial data lacks does not count it as missing", async () => {
    const { outcomes } = setUp(
      (ids) =>
        errorResponse(
          "no user",
          "INTERNAL_SERVER_ERROR",
          200,
          tasksData(ids.filter((id) => id !== badId).map((id) => taskOf(id, true))),
        ),
      { isBad: () => true },
    );
    expect(await outcomes([...goodIds(2), badId], 60_000)).toEqual({
      resolved: 2,
      codes: ["DEADLINE_EXCEEDED"],
    });
  });
});

describe("the deadline of a wait", () => {
  const never = { doneAtMs: Number.POSITIVE_INFINITY };

  it("a wait ends by the deadlineMs of the client", async () => {
    const { waitFor, clock } = setUp(rejections["an input error"], { ...never, deadlineMs: 90_000 });
    const outcome = await clock.runUntil(outcomeOf(waitFor(idOf(1))));
    expect(outcome).toMatchObject({
      code: "DEADLINE_EXCEEDED",
      message: expect.stringMatching(`^tasks.waitFor: .*${idOf(1)}.*90000`),
    });
    expect(clock.monotonic()).toBe(90_000);
  });
});
