import { describe, expect, test } from "vitest";
import type { MockServer } from "workspace-tasks/mock-server";
import { mockTest } from "workspace-tasks/mock-server/vitest";

const seen: MockServer[] = [];

describe("every test has a mock of its own", () => {
  mockTest("the first fills its mock", async ({ mock }) => {
    seen.push(mock);
    await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    expect((await mock.control.getSnapshot()).state.tasks).toHaveLength(1);
    expect((await fetch(`${mock.baseUrl}/_mock/v1/health`)).status).toBe(200);
  });

  mockTest("the second finds an empty one, and the first mock closed", async ({ mock }) => {
    expect(mock).not.toBe(seen[0]);
    expect((await mock.control.getSnapshot()).state.tasks).toEqual([]);
    await expect(fetch(`${seen[0]?.baseUrl}/_mock/v1/health`)).rejects.toThrow();
  });
});

describe("the options are the test's to choose", () => {
  const virtualTest = mockTest.extend({ mockOptions: { clock: "virtual", listen: false, seed: 7 } });

  virtualTest("for a file or a group", async ({ mock }) => {
    expect(mock.clock.mode).toBe("virtual");
    const start = mock.clock.now();
    await mock.clock.advance("7d");
    expect(mock.clock.now() - start).toBe(604_800_000);
  });
});

test("a test that does not ask for a mock starts none", () => {
  expect(seen).toHaveLength(1);
});
