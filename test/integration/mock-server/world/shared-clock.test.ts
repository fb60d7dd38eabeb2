import { createMockServer, createVirtualClock, isMockServerError } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { jsonPost, workspaceToken } from "../../../support/mock-client.ts";

describe("a virtual clock", () => {
  it.each([
    ["soon", '"soon"'],
    [5n as never, "5n"],
    [undefined as never, "undefined"],
  ])("rejects to advance by %s, and names the argument and what it takes", async (by, got) => {
    const forms = 'milliseconds or text such as "90s", "3m", "1h30m", "7d"';
    const virtual = createVirtualClock(0);
    await using mock = await createMockServer({ listen: false, clock: virtual });
    for (const clock of [virtual, mock.clock]) {
      const error = await clock.advance(by).catch((reason: unknown) => reason);
      expect(isMockServerError(error, "ARGUMENT_INVALID")).toBe(true);
      expect((error as Error).message).toBe(`clock.advance: by: expected ${forms}, got ${got}`);
    }
    expect(virtual.now()).toBe(0);
  });

  it("lets two mocks share one virtual clock, also after a reset of one of them", async () => {
    await using first = await createMockServer({ listen: false, clock: "virtual" });
    await using second = await createMockServer({ listen: false, clock: first.clock, seed: 2 });
    const me = async (mock: typeof first, token: string) => {
      const response = await mock.fetch("/graphql", jsonPost({ query: "{ me { __typename } }" }, token));
      return ((await response.json()) as { data: { me: unknown } }).data.me;
    };
    const tokens = [await workspaceToken(first), await workspaceToken(second)] as const;
    await second.clock.advance("179s");
    expect(await me(first, tokens[0])).not.toBeNull();
    await second.clock.advance("1s");
    expect(await me(first, tokens[0])).toBeNull();
    expect(await me(second, tokens[1])).toBeNull();
    await second.control.reset();
    expect(await workspaceToken(second)).toEqual(expect.any(String));
  });
});
