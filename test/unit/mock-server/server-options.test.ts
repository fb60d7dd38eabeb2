import { describe, expect, test } from "vitest";
import { createMockServer, type MockServerOptions } from "workspace-tasks/mock-server";

const start = (options: object) => createMockServer({ listen: false, ...options } as MockServerOptions);

describe("createMockServer refuses", () => {
  test.each([
    [{ clok: "virtual" }, /unknown option "clok", expected some of listen, port/],
    [{ clock: "virtul" }, /clock: expected "real", "virtual" or a clock, got "virtul"/],
    [{ clock: { now: Date.now } }, /clock: expected "real", "virtual" or a clock, got object/],
    [
      { faults: { deliveries: [{ instructions: [{ kind: "dely" }] }] } },
      /faults\.deliveries\.0\.instructions\.0/,
    ],
    [{ settings: { rateLimits: {} } }, /unknown setting settings\.rateLimits/],
    [{ settings: { rateLimit: { requests: 0 } } }, /requests to be a number of at least 1, got 0/],
  ])("%j", async (options, message) => {
    await expect(start(options)).rejects.toThrow(message);
  });

  test("nothing that makes sense", async () => {
    await using mock = await start({ clock: "virtual", seed: 7, faults: { api: [] } });
    expect(mock.admin.clock().mode).toBe("virtual");
  });
});
