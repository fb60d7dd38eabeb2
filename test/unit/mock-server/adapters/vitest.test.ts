import type { MockServer } from "@workspace-tasks/mock-server";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";

const seen: MockServer[] = [];

// What is between two tests shows in the second one.
describe("mockTest", { shuffle: false }, () => {
  mockTest("gives the first test a mock", async ({ mock }) => {
    seen.push(mock);
    await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    expect((await mock.control.getSnapshot()).state.tasks).toHaveLength(1);
    expect((await fetch(`${mock.baseUrl}/_mock/v1/health`)).status).toBe(200);
  });

  mockTest("gives the second test another mock and closes the first", async ({ mock }) => {
    expect(mock).not.toBe(seen[0]);
    expect((await mock.control.getSnapshot()).state.tasks).toEqual([]);
    await expect(fetch(`${seen[0]?.baseUrl}/_mock/v1/health`)).rejects.toThrow();
  });
});

describe("mockTest without a mock", () => {
  let started = 0;
  const lazyTest = mockTest.extend({
    // biome-ignore lint/correctness/noEmptyPattern: a fixture without dependencies
    mockOptions: async ({}, use) => {
      started++;
      await use({ listen: false });
    },
  });

  lazyTest("starts none for a test that does not use it", () => {
    expect(started).toBe(0);
  });
});
