// A service that is gone from one of the requests of a run on, in turns from each: what the run names is what is left.
import { describe, expect, it } from "vitest";
import { cleanService } from "../../../../mock-server/tools/compare/compare-service.ts";
import type { CompareReport } from "../../../../mock-server/tools/compare/report/compare-report.ts";
import { renderJsonReport } from "../../../../mock-server/tools/compare/report/json-report.ts";
import { renderJunitReport } from "../../../../mock-server/tools/compare/report/junit-report.ts";
import { exitCodeOf } from "../../../../mock-server/tools/compare/report/summary.ts";
import { renderTextReport } from "../../../../mock-server/tools/compare/report/text-report.ts";
import { createdEndpoints, isOwnUrl } from "../../../../mock-server/tools/compare/run/created-endpoints.ts";
import {
  type Around,
  type ComparedService,
  compare,
  type Send,
  startComparedService,
} from "../../../support/compared-service.ts";
import { atDepth } from "../../../support/depth.ts";

const writing = { permissions: ["read", "write"] } as const;

const command = (service: ComparedService) =>
  `workspace-tasks compare --base-url ${service.mock.baseUrl} --clean`;

/** The endpoints of runs that the service has. */
async function ownOf({ mock }: ComparedService): Promise<readonly string[]> {
  const { data } = await mock.control.listEndpoints();
  return data.filter(({ url }) => isOwnUrl(url)).map(({ id, url }) => `${url} ${id}`);
}

const failure = (code: string) =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(), { code }) });

/** @param isLost the request still arrives, and its response is lost */
const goneFrom =
  (request: number, isLost: boolean, count: { requests: number }): Around =>
  (send) =>
  async (url, init) => {
    count.requests += 1;
    if (count.requests === request && isLost) {
      await send(url, init);
      throw failure("ECONNRESET");
    }
    if (count.requests >= request) throw failure("ECONNREFUSED");
    return send(url, init);
  };

/** Removes what earlier runs have left. */
const clean = async (
  service: ComparedService,
  around: Around = (send) => send,
  whileAsked: () => Promise<unknown> = async () => {},
) => {
  const { mock, clock, keys } = service;
  const asked: number[] = [];
  const report = await cleanService({
    access: { baseUrl: mock.baseUrl, gatewayUrl: null, keys: { admin: keys.admin ?? "" } },
    fetch: around((url, init) => mock.fetch(url, init)) as Send,
    clock,
    created: createdEndpoints(),
    signal: new AbortController().signal,
    async agrees({ length }) {
      asked.push(length);
      await whileAsked();
      return true;
    },
  });
  return { report, asked };
};

/** What the report names: with certainty, and all of it. */
function namedIn({ removal }: CompareReport) {
  const left = removal?.left ?? [];
  const text = ({ url, id }: (typeof left)[number]) => `${url} ${id}`;
  return { certain: left.filter(({ isCertain }) => isCertain).map(text), all: left };
}

async function expectNamed(service: ComparedService, report: CompareReport): Promise<number> {
  const left = await ownOf(service);
  const { certain, all } = namedIn(report);
  // At most the one request whose response was lost is uncertain.
  expect(all.length - certain.length).toBeLessThanOrEqual(1);
  expect(left).toEqual(expect.arrayContaining(certain));
  const known = (each: string) =>
    all.some(({ url, id }) => each === `${url} ${id ?? each.split(" ").at(-1)}`);
  expect(left.filter((each) => !known(each))).toEqual([]);
  if (all.length === 0) {
    expect(report.removal?.command ?? null).toBeNull();
    return 0;
  }
  expect(exitCodeOf(report)).toBe(2);
  const text = renderTextReport(report);
  const [json, junit] = [renderJsonReport(report), renderJunitReport(report)];
  for (const { url, id } of all) {
    expect(text).toContain(`${url}  ${id ?? "id not known"}`);
    expect(json).toContain(JSON.stringify(url));
    expect(junit).toContain(url);
  }
  for (const each of [text, json, junit]) expect(each).toContain(command(service));
  return left.length;
}

/** Of how many requests one is the first that gets no response. */
const stride = atDepth(17, 1);

describe("a service that is gone", () => {
  it.each([false, true])(
    "from any request on (its last response lost: %s): what is left is named, and removed later",
    async (isLost) => {
      let leftMost = 0;
      let isWhole = false;
      for (let request = 1; !isWhole; request += stride) {
        await using service = await startComparedService();
        const others = (await service.mock.control.listEndpoints()).data.length;
        const count = { requests: 0 };
        const around = goneFrom(request, isLost, count);
        const report = await compare(service, { ...writing, around });
        isWhole = count.requests < request;
        const left = await expectNamed(service, report);
        leftMost = Math.max(leftMost, left);
        if (left === 0) continue;
        const { report: cleaned, asked } = await clean(service);
        const removal = { removed: left, left: [], problem: null, command: null };
        expect([cleaned.removal, asked]).toEqual([removal, [left]]);
        expect((await service.mock.control.listEndpoints()).data).toHaveLength(others);
      }
      expect(leftMost).toBeGreaterThan(2);
    },
    300_000,
  );

  it("from the first removal of --clean on is waited for, two minutes, and what is left is named", async () => {
    await using service = await startComparedService();
    const own = "https://receiver.invalid/workspace-tasks-compare/0a1b2c3d4e/plain";
    await service.mock.control.createEndpoint({ url: own });
    const startMs = service.clock.now();
    let isGone = false;
    const { report } = await clean(service, (send) => async (url, init) => {
      isGone ||= String(init.body).includes("deleteWebhookEndpoint(");
      if (isGone) throw failure("ECONNREFUSED");
      return send(url, init);
    });
    expect(report.removal).toMatchObject({ removed: 0, left: [{ url: own }], command: command(service) });
    const minutes = (service.clock.now() - startMs) / 60_000;
    expect(minutes).toBeGreaterThanOrEqual(2);
    expect(minutes).toBeLessThan(3);
  });

  it("endpoints that a run creates while --clean asks are kept", async () => {
    await using service = await startComparedService();
    const { control } = service.mock;
    const endpoint = (run: string) =>
      control.createEndpoint({ url: `https://receiver.invalid/workspace-tasks-compare/${run}/plain` });
    await endpoint("earlier");
    const { report } = await clean(service, undefined, () => endpoint("inprogress"));
    expect(report.removal).toEqual({ removed: 1, left: [], problem: null, command: null });
    expect(await ownOf(service)).toEqual([expect.stringContaining("/inprogress/plain ")]);
  });

  it("endpoints of others are kept, and endpoints of earlier runs are removed before a run when that is agreed to", async () => {
    await using service = await startComparedService();
    const { control } = service.mock;
    const foreign = [
      "https://hooks.example/workspace-tasks-compare/0a1b2c3d4e/plain",
      "https://receiver.invalid/workspace-tasks-compare/",
      "https://receiver.invalid/other/0a1b2c3d4e/plain",
      "https://receiver.invalid/workspace-tasks-compare/0a1b2c3d4e/plain/more",
    ];
    const own = "https://receiver.invalid/workspace-tasks-compare/0a1b2c3d4e/plain";
    for (const url of [...foreign, own]) await control.createEndpoint({ url, eventTypes: ["task.failed"] });
    const urls = async () => (await control.listEndpoints()).data.map(({ url }) => url);
    const asked: (readonly string[])[] = [];
    const runWith = (agreed: boolean) =>
      compare(service, {
        ...writing,
        async agrees(endpoints) {
          asked.push(endpoints.map(({ url }) => url));
          return agreed;
        },
      });
    expect((await runWith(false)).removal?.left).toEqual([]);
    expect(await urls()).toContain(own);
    expect((await runWith(true)).removal?.left).toEqual([]);
    expect(asked).toEqual([[own], [own]]);
    expect(await urls()).toEqual(expect.arrayContaining(foreign));
    expect(await urls()).not.toContain(own);
    expect(await urls()).toHaveLength(4 + foreign.length);
  });

  it("endpoints of earlier runs that the service keeps are named in the report, and the exit code is 2", async () => {
    await using service = await startComparedService();
    const url = "https://receiver.invalid/workspace-tasks-compare/0a1b2c3d4e/plain";
    const { id } = await service.mock.control.createEndpoint({ url });
    const report = await compare(service, {
      ...writing,
      agrees: async () => true,
      around: (send) => async (address, init) =>
        String(init.body).includes(`"endpointId":"${id}"`)
          ? Response.json({ data: null, errors: [{ message: "Conflict" }] })
          : send(address, init),
    });
    expect(renderTextReport(report)).toContain(`  ${url}  ${id}\n  to remove it: ${command(service)}`);
    expect(report.removal).toMatchObject({
      ...{ removed: 3, left: [{ url, id }] },
      problem: "the service did not delete them",
    });
    expect(exitCodeOf(report)).toBe(2);
  });

  it("a list that fails does not keep the run from deleting what it has created", async () => {
    await using service = await startComparedService();
    let isOver = false;
    const stopping = new AbortController();
    const report = await compare(service, {
      ...writing,
      signal: stopping.signal,
      onObservation({ probe }) {
        if (probe !== "endpoint-change.create") return;
        isOver = true;
        stopping.abort();
      },
      around: (send) => async (url, init) => {
        if (!isOver || !String(init.body).includes("webhookEndpoints(")) return send(url, init);
        return Response.json({ data: null, errors: [{ message: "Timeout" }] });
      },
    });
    expect([report.removal, await ownOf(service)]).toEqual([
      { removed: 4, left: [], problem: null, command: null },
      [],
    ]);
  });
});
