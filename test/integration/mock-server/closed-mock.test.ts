import { createControlClient, createMockServer, type MockWorld } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { controlCalls } from "../../../mock-server/generated/control-calls.ts";

const closed = { code: "MOCK_CLOSED" };
type Call = (...parameters: unknown[]) => Promise<unknown>;

const ways = {
  "a closed mock": async (): Promise<MockWorld> => {
    const mock = await createMockServer({ clock: "virtual" });
    await mock.close();
    return mock;
  },
  "a world of a closed mock": async (): Promise<MockWorld> => {
    const mock = await createMockServer({ clock: "virtual" });
    const world = await mock.worlds.create();
    await mock.close();
    return world;
  },
};

describe.each(Object.entries(ways))("%s", (_, create) => {
  it("rejects every call of the control API", async () => {
    const { control } = await create();
    for (const name of Object.keys(controlCalls) as (keyof typeof control)[])
      await expect((control[name] as Call)(), name).rejects.toMatchObject(closed);
  });

  it("rejects requests, overrides and expectations", async () => {
    const mock = await create();
    await expect(mock.fetch("/graphql")).rejects.toMatchObject(closed);
    await expect(mock.expectRequest()).rejects.toMatchObject(closed);
    await expect(mock.expectNoDelivery()).rejects.toMatchObject(closed);
    expect(() => mock.override("me", { errors: [{ message: "no" }] })).toThrow("closed");
    expect(() => mock.subscribe(() => {})).toThrow("closed");
    await expect(mock.fetch("/_mock/v1/stream")).resolves.toMatchObject({ status: 409 });
    const control = createControlClient({ baseUrl: mock.baseUrl });
    await expect(control.getHealth()).rejects.toMatchObject({ code: "NETWORK_FAILED" });
    await mock.close();
  });
});

describe("closing", () => {
  it("ends every wait at once", async () => {
    const mock = await createMockServer();
    const world = await mock.worlds.create();
    const control = createControlClient({ baseUrl: mock.baseUrl });
    const limit = { timeoutMs: 600_000 };
    const pending = [mock, world].flatMap((each) => [
      each.control.waitForRequests(limit),
      each.expectDelivery(limit),
    ]);
    const overHttp = control.waitForDeliveries(limit);
    const ended = Promise.all([
      ...pending.map((wait) => expect(wait).rejects.toMatchObject(closed)),
      expect(overHttp).rejects.toMatchObject({ code: "NETWORK_FAILED" }),
    ]);
    await mock.close();
    await ended;
    await expect(mock.worlds.create()).rejects.toMatchObject(closed);
  });

  it.each(["real", "virtual"] as const)("ends a wait of its clock, %s", async (clock) => {
    const mock = await createMockServer({ listen: false, clock });
    const ended = expect(mock.clock.runUntil(new Promise(() => {}))).rejects.toMatchObject(closed);
    await mock.close();
    await ended;
  });

  it("a reset ends a wait with the reason", async () => {
    await using mock = await createMockServer({ listen: false });
    // The first wait loads what it needs.
    await mock.expectNoDelivery();
    const waiting = mock.control.waitForDeliveries({ timeoutMs: 600_000 });
    const ended = expect(waiting).rejects.toThrow("a reset or a restored snapshot ended the wait");
    await new Promise((resolve) => setImmediate(resolve));
    await mock.control.reset();
    await ended;
  });

  it("leaves the clock to those who share it", async () => {
    const mock = await createMockServer({ listen: false, clock: "virtual" });
    await mock.close();
    await mock.clock.advance("1s");
    expect(await mock.clock.runUntil(Promise.resolve(7))).toBe(7);
  });
});
