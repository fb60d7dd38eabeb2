import { isMockServerError } from "@workspace-tasks/mock-server";
import { worldPerTest } from "@workspace-tasks/mock-server/jest";
import { describe, expect, it } from "vitest";

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
