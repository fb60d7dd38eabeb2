import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createMockServer, type MockServer } from "workspace-tasks/mock-server";
import {
  lastMinute,
  noTraffic,
  readTraffic,
  type Traffic,
} from "../../../../../../mock-server/inspector/page/src/state/traffic.ts";
import { callGraphql } from "../../../../../support/mock-client.ts";

let mock: MockServer;
beforeAll(async () => {
  mock = await createMockServer({ listen: false, clock: "virtual" });
});
beforeEach(() => mock.control.reset());
afterAll(() => mock.close());

async function request(count: number): Promise<void> {
  for (let sent = 0; sent < count; sent++) await callGraphql(mock, "{ webhookEventCatalog { name } }");
}

const nowMs = async () => Date.parse((await mock.control.getClock()).now);

/** Requests of the last seconds, newest first. */
const newest = async (traffic: Traffic, seconds: number) =>
  lastMinute(traffic, await nowMs())
    .toReversed()
    .slice(0, seconds);

const sum = (seconds: readonly number[]) => seconds.reduce((total, count) => total + count, 0);

describe("readTraffic", () => {
  it("counts what the mock recorded before the page was opened, by second of the mock's time", async () => {
    await request(2);
    await mock.clock.advance("1s");
    await request(3);
    const traffic = await readTraffic(noTraffic, mock.control);
    expect(await newest(traffic, 3)).toEqual([3, 2, 0]);
    expect(lastMinute(traffic, await nowMs())).toHaveLength(60);
  });

  it("adds only what is new", async () => {
    await request(2);
    const before = await readTraffic(noTraffic, mock.control);
    expect(await readTraffic(before, mock.control)).toBe(before);
    await request(1);
    await mock.clock.advance("1s");
    await request(1);
    expect(await newest(await readTraffic(before, mock.control), 3)).toEqual([1, 3, 0]);
  });

  it("counts nothing that is older than a minute of the mock's time", async () => {
    await request(2);
    const before = await readTraffic(noTraffic, mock.control);
    await mock.clock.advance("59s");
    expect(sum(lastMinute(before, await nowMs()))).toBe(2);
    await mock.clock.advance("1s");
    expect(sum(lastMinute(before, await nowMs()))).toBe(0);
    await request(1);
    expect((await readTraffic(before, mock.control)).seconds).toHaveLength(1);
  });

  it("reads as many pages as the last minute has", async () => {
    let pages = 0;
    const counting = {
      listRequests: (...parameters: Parameters<typeof mock.control.listRequests>) => {
        pages++;
        return mock.control.listRequests(...parameters);
      },
    };
    await request(1_001);
    expect((await readTraffic(noTraffic, counting)).seconds).toHaveLength(1_001);
    expect(pages).toBe(2);
    await mock.clock.advance("1m");
    await request(1);
    pages = 0;
    expect((await readTraffic(noTraffic, counting)).seconds).toHaveLength(1);
    expect(pages).toBe(1);
  });
});

describe("lastMinute", () => {
  it("ends with the newest request, when the mock's time was read before it", () => {
    const traffic: Traffic = { sequence: 2, seconds: [100, 100] };
    expect(lastMinute(traffic, 99_000).at(-1)).toBe(2);
    expect(lastMinute(traffic, 101_000).slice(-2)).toEqual([2, 0]);
  });
});
