import { isMockServerError, type MockWorld } from "@workspace-tasks/mock-server";
import { worldPerTest } from "@workspace-tasks/mock-server/jest";
import { mockFixtures } from "@workspace-tasks/mock-server/playwright";
import { describe, expect, it } from "vitest";

const seen: MockWorld[] = [];

// Vitest takes fixtures in the same form, but for `option`.
const worldTest = it.extend({ ...mockFixtures, worldOptions: {} } as never) as unknown as (
  name: string,
  run: (fixtures: { readonly world: MockWorld }) => Promise<void>,
) => void;

// What is between two tests shows in the second one.
describe("the fixtures for Playwright", { shuffle: false }, () => {
  worldTest("give a test a world of the worker's mock", async ({ world }) => {
    seen.push(world);
    expect((await fetch(`${world.baseUrl}/_mock/v1/health`)).status).toBe(200);
  });

  worldTest("give the next test another world, and drop the first", async ({ world }) => {
    expect(world.name).not.toBe(seen[0]?.name);
    expect(new URL(world.baseUrl).origin).toBe(new URL(seen[0]?.baseUrl ?? "").origin);
    expect((await fetch(`${seen[0]?.baseUrl}/_mock/v1/health`)).status).toBe(404);
  });
});

describe("worldPerTest", () => {
  it("needs hooks, and rejects options that are wrong", () => {
    expect(() => worldPerTest()).toThrow("worldPerTest: hooks: expected beforeAll");
    expect(() => worldPerTest({ wrld: {} } as never)).toThrow("did you mean world?");
  });

  it("has no world before a test", () => {
    const hook = () => undefined;
    const fixture = worldPerTest({
      hooks: { beforeAll: hook, beforeEach: hook, afterEach: hook, afterAll: hook },
    });
    let error: unknown;
    try {
      fixture.world;
    } catch (thrown) {
      error = thrown;
    }
    expect(isMockServerError(error, "CONFIGURATION_INVALID")).toBe(true);
  });
});
