// A service that is gone from one of the requests of a run on, in turns from each: what the run names is what is left.
import { describe, expect, it } from "vitest";
import {
  type CompareReport,
  exitCodeOf,
  renderJsonReport,
  renderJunitReport,
  renderTextReport,
} from "../../../../mock-server/tools/compare/report.ts";
import {
  type Around,
  type ComparedService,
  compare,
  differencesIn,
  startComparedService,
} from "../../../support/compared-service.ts";
import { atDepth } from "../../../support/depth.ts";

const writing = { writes: true } as const;

const command = (url: string, { mock }: ComparedService) =>
  `workspace-tasks endpoints delete '${url}' --base-url ${mock.baseUrl}`;

/** The endpoints of runs that the service has. */
async function ownOf({ mock }: ComparedService): Promise<readonly string[]> {
  const { data } = await mock.control.listEndpoints();
  return data
    .filter(({ url }) => url.includes("/workspace-tasks-compare/"))
    .map(({ id, url }) => `${url} ${id}`);
}

const failure = (code: string) =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(), { code }) });

type Answer = (forward: () => Promise<Response>) => Response | Promise<Response>;

/** Answers the requests with this text in another way. */
const answering =
  (text: string, answer: Answer): Around =>
  (send) =>
  async (url, init) => {
    const forward = () => send(url, init);
    return String(init.body).includes(text) ? answer(forward) : forward();
  };

const deletion = "deleteWebhookEndpoint(";
const errorResponse = (message: string) => Response.json({ data: null, errors: [{ message }] });

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
    return 0;
  }
  expect(exitCodeOf(report)).toBe(2);
  const text = renderTextReport(report);
  const [json, junit] = [renderJsonReport(report), renderJunitReport(report)];
  for (const { url, id } of all) {
    expect(text).toContain(`${url}  ${id ?? "id not known"}`);
    expect(json).toContain(JSON.stringify(url));
    expect(junit).toContain(url);
    expect(text).toContain(command(url, service));
  }
  return left.length;
}

/** Of how many requests one is the first that gets no response. */
const stride = atDepth(17, 1);

describe("a service that is gone", () => {
  it.each([false, true])(
    "from any request on (its last response lost: %s): what is left is named",
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
        expect((await service.mock.control.listEndpoints()).data).toHaveLength(others + left);
      }
      // A rule removes what it has created before the next one is asked.
      expect(leftMost).toBe(1);
    },
    300_000,
  );

  it("from the first deletion on is waited for, two minutes, and what is left is named", async () => {
    await using service = await startComparedService();
    let goneAtMs = 0;
    const around: Around = (send) => async (url, init) => {
      if (String(init.body).includes(deletion)) goneAtMs ||= service.clock.now();
      if (goneAtMs > 0) throw failure("ECONNREFUSED");
      return send(url, init);
    };
    const report = await compare(service, { ...writing, around });
    expect(await expectNamed(service, report)).toBe(1);
    const minutes = (service.clock.now() - goneAtMs) / 60_000;
    expect(minutes).toBeGreaterThanOrEqual(2);
    expect(minutes).toBeLessThan(5);
  });

  it("for the responses to creations, and shows URLs in another form: what was created is found and removed", async () => {
    await using service = await startComparedService();
    const shownOtherwise: Around = (send) => async (url, init) => {
      const response = await send(url, init);
      const text = await response.text();
      const { status, headers } = response;
      const shown = text.replaceAll("https://receiver.invalid", "HTTPS://Receiver.invalid:443");
      return new Response(shown, { status, headers });
    };
    const losing = answering("createWebhookEndpoint(", async (forward) => {
      await forward();
      throw failure("ECONNRESET");
    });
    const report = await compare(service, { ...writing, around: (send) => losing(shownOtherwise(send)) });
    expect([report.removal?.left, differencesIn(report), await ownOf(service)]).toEqual([[], [], []]);
  });

  it("for the responses to deletions: each endpoint is deleted once by its rule, and once more at the end if it is listed", async () => {
    await using service = await startComparedService();
    let deletions = 0;
    const around = answering(deletion, async (forward) => {
      const response = await forward();
      deletions += 1;
      if (deletions % 2 === 1) throw failure("ECONNRESET");
      return response;
    });
    const report = await compare(service, { ...writing, around });
    expect([report.removal?.left, differencesIn(report), await ownOf(service)]).toEqual([[], [], []]);
    // Rules about deletions ask for more.
    expect(deletions).toBeLessThan(60);
  });

  it("endpoints of others, and of other runs, are kept", async () => {
    await using service = await startComparedService();
    const { control } = service.mock;
    const foreign = [
      "https://hooks.example/workspace-tasks-compare/0a1b2c3d4e/plain",
      "https://receiver.invalid/workspace-tasks-compare/",
      "https://receiver.invalid/workspace-tasks-compare/0a1b2c3d4e/plain",
    ];
    for (const url of foreign) await control.createEndpoint({ url, eventTypes: ["task.failed"] });
    expect((await compare(service, writing)).removal?.left).toEqual([]);
    const urls = (await control.listEndpoints()).data.map(({ url }) => url);
    expect([urls.length, urls]).toEqual([23 + foreign.length, expect.arrayContaining(foreign)]);
  });

  it("endpoints that the service keeps are named in the report, and the exit code is 2", async () => {
    await using service = await startComparedService();
    // No URL of the run, though it has its mark: a command is never made of the text of others.
    const hostile = "https://receiver.invalid/workspace-tasks-compare/test/a';reboot'";
    const { id } = await service.mock.control.createEndpoint({ url: hostile, eventTypes: ["task.failed"] });
    const around = answering(deletion, () => errorResponse("Conflict"));
    const report = await compare(service, { ...writing, around });
    expect(renderTextReport(report)).not.toContain("reboot");
    await service.mock.control.deleteEndpoint(id);
    expect(await expectNamed(service, report)).toBeGreaterThan(10);
    expect(report.removal).toMatchObject({ problem: "the service did not delete them" });
  });

  it("a list that fails does not keep the run from deleting what it has created", async () => {
    await using service = await startComparedService();
    const stopping = new AbortController();
    const report = await compare(service, {
      ...writing,
      signal: stopping.signal,
      onWait(_, reason) {
        if (reason === "for another time") stopping.abort();
      },
      around: answering("webhookEndpoints(", (forward) =>
        stopping.signal.aborted ? errorResponse("Timeout") : forward(),
      ),
    });
    expect([report.stopped, report.removal?.left, await ownOf(service)]).toEqual(["stopped", [], []]);
  });
});
