import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";

const it = mockTest.extend({ mockOptions: { clock: "virtual", listen: false } });

describe("the clock of a mock", () => {
  it("reports each move, from the same process and through the control API", async ({ mock }) => {
    const moves: unknown[] = [];
    mock.subscribe(({ type, byMs, fired }) => {
      if (type === "clock.advanced") moves.push({ byMs, fired });
    });
    await mock.clock.advance("1m");
    await mock.control.advanceClock({ by: "2s" });
    await mock.clock.runUntil(new Promise<void>((resolve) => void mock.clock.schedule(3_000, resolve)));
    await mock.clock.runUntil(Promise.resolve());
    expect(moves).toEqual([
      { byMs: 60_000, fired: 0 },
      { byMs: 2_000, fired: 0 },
      { byMs: 3_000, fired: null },
    ]);
  });
});
