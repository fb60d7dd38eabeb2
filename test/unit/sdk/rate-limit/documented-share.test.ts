import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  createEngineFixture,
  type EngineFixtureOptions,
  jitteryLegs,
  probe,
} from "../../../support/engine-fixture.ts";
import { seeded } from "../../../support/fake-service.ts";

const calls = 600;
const minuteMs = 60_000;

/** Sends 600 calls at once. */
async function measure(options: EngineFixtureOptions) {
  const { service, engine } = createEngineFixture(options);
  const sent = Array.from({ length: calls }, () => engine.execute(probe.query, {}));
  await service.clock.advance((calls / 120 + 3) * minuteMs);
  await Promise.all(sent);
  // From the end of the first window on.
  const later = [...service.log.acceptedAtMs].sort((a, b) => a - b).slice(119);
  const usedMs = (later.at(-1) ?? 0) - (later[0] ?? 0);
  return {
    percent: (100 * (later.length - 1) * minuteMs) / (120 * usedMs),
    rejected429: service.log.rejected429,
  };
}

/** Rows of the table in docs/sdk.md: round trip in ms, percent without and with jitter. */
const rows = [
  ...readFileSync("docs/sdk.md", "utf8").matchAll(/^\| ([\d,]+) ms \| ([\d.]+) % \| ([\d.]+) % \| 0 \|$/gm),
].map(([, ...cells]) => cells.map((cell) => Number(cell.replace(",", ""))));

describe("the part of the rate limit that docs/sdk.md promises", () => {
  it("is a table from 5 ms to 2 s", () => {
    expect(rows.map(([roundTripMs]) => roundTripMs)).toEqual([5, 200, 1_000, 2_000]);
  });

  it.each(rows)("is used at a round trip of %i ms, without a 429", async (...row) => {
    const [roundTripMs = 0, steady = 0, jittery = 0] = row;
    for (const [jitter, documented] of [
      [0, steady],
      [0.5, jittery],
    ] as const) {
      const legs = jitteryLegs(roundTripMs, jitter, seeded(3));
      const { percent, rejected429 } = await measure({ legs, windowOffsetMs: 17_000 });
      expect(rejected429).toBe(0);
      expect(Math.floor(percent * 10) / 10).toBe(documented);
    }
  });

  it("costs no 429 when the path is suddenly faster", async () => {
    let nowMs = () => 0;
    const legs = () => {
      const roundTripMs = nowMs() < 150_000 ? 2_000 : 100;
      return { forwardMs: roundTripMs / 2, backwardMs: roundTripMs / 2 };
    };
    const fixture = createEngineFixture({ legs: () => legs() });
    nowMs = () => fixture.service.clock.monotonic();
    const sent = Array.from({ length: calls }, () => fixture.engine.execute(probe.query, {}));
    await fixture.service.clock.advance(10 * minuteMs);
    await Promise.all(sent);
    expect(fixture.service.log).toMatchObject({ accepted: calls, rejected429: 0 });
  });
});
