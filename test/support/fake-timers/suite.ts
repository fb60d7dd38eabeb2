// What a mock does while the timers of the process are fake, in vitest and in Jest. Nothing here moves fake time, so a
// wait that uses it never ends: the runner's own time limit fails its test.

import {
  createControlClient,
  createMockServer,
  createVirtualClock,
  type MockServer,
  type MockServerOptions,
} from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";

export interface Runner {
  it(title: string, run: () => Promise<void>): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: both runners have the same `expect`, with different types
  readonly expect: any;
  /** Installs the fake timers, in front of each test. */
  useFakeTimers(): void;
}

const receiverUrl = "http://127.0.0.1:1/webhooks";
const never = () => new Promise<never>(() => {});

export function fakeTimersSuite({ it, expect, useFakeTimers }: Runner): void {
  const withMock = (title: string, options: MockServerOptions, run: (mock: MockServer) => Promise<void>) =>
    it(title, async () => {
      useFakeTimers();
      expect(setInterval).toHaveProperty("clock");
      const received = () => new Response(null, { status: 204 });
      const mock = await createMockServer({ receivers: new Map([[receiverUrl, received]]), ...options });
      await mock.control.createEndpoint({ url: receiverUrl });
      await run(mock);
      await mock.close();
    });
  const rejects = (promise: Promise<unknown>, code: string) =>
    expect(promise).rejects.toMatchObject({ code });

  withMock("a virtual clock moves", { clock: "virtual", listen: false }, async ({ clock, control }) => {
    expect(await clock.advance("10s")).toBe(0);
    await clock.settle();
    const { taskId } = await control.startTask({ taskType: "TAX_PREP" });
    await clock.advance("5m");
    await control.advanceClock({ by: "1s" });
    expect((await control.getTask(taskId)).status).toBe("COMPLETED");
    const { data } = await control.listDeliveries({ subject: taskId });
    expect(new Set(data.map(({ status }) => status))).toEqual(new Set(["succeeded"]));
    expect((await control.getClock()).mode).toBe("virtual");
  });

  withMock("a virtual clock runs until a client is done", { clock: "virtual" }, async (mock) => {
    const { baseUrl, apiKey, clock, control } = mock;
    const client = createClient({ baseUrl, apiKey, clock });
    const { taskId } = await control.startTask({ taskType: "TAX_PREP" });
    expect((await clock.runUntil(client.tasks.waitFor(taskId))).status).toBe("COMPLETED");
    await client.close();
  });

  it("a virtual clock that is blocked says so", async () => {
    useFakeTimers();
    const clock = createVirtualClock(undefined, { waitLimitMs: 50 });
    await rejects(clock.runUntil(never()), "CLOCK_BLOCKED");
    void clock.track(never());
    await rejects(clock.advance(1), "CLOCK_BLOCKED");
    void clock.track(never());
    await rejects(clock.settle(), "CLOCK_BLOCKED");
  });

  for (const clock of ["real", "virtual"] as const) {
    withMock(`waits end, ${clock} clock`, { clock }, async (mock) => {
      const { control, baseUrl } = mock;
      for (const each of [control, createControlClient({ baseUrl })]) {
        await rejects(each.waitForRequests({ timeoutMs: 20 }), "WAIT_TIMED_OUT");
        await rejects(each.waitForDeliveries({ timeoutMs: 20 }), "WAIT_TIMED_OUT");
      }
      await rejects(mock.expectRequest({ timeoutMs: 20 }), "WAIT_TIMED_OUT");
      await rejects(mock.expectDelivery({ timeoutMs: 20 }), "WAIT_TIMED_OUT");
      await expect(expect(mock).toHaveReceivedRequest({ timeoutMs: 20 })).rejects.toThrow("timeoutMs (20)");
      await expect(expect(mock).toHaveDelivery({ timeoutMs: 20 })).rejects.toThrow("timeoutMs (20)");
      await mock.expectNoRequest();
      await mock.expectNoDelivery();
    });

    withMock(`waits are satisfied, ${clock} clock`, { clock }, async (mock) => {
      const { control, baseUrl } = mock;
      const world = await mock.worlds.create();
      const waiting = control.waitForRequests({ operation: "me" });
      const waitingOverHttp = createControlClient({ baseUrl }).waitForDeliveries({ event: "task.running" });
      const { taskId } = await control.startTask({ taskType: "BINDER", progression: "manual" });
      await mock.fetch("/graphql", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query: "{ me { __typename } }" }),
      });
      if (clock === "virtual") await mock.clock.advance(1);
      expect((await waiting).data).toHaveLength(1);
      expect((await waitingOverHttp).data).toHaveLength(1);
      expect((await mock.expectDelivery({ subject: taskId })).status).toBe("succeeded");
      await expect(mock).toHaveReceivedRequest({ operation: "me", times: 1 });
      await expect(mock).toHaveDelivery({ subject: taskId });
      await expect(world).not.toHaveReceivedRequest();
      await world.close();
    });
  }

  withMock("a task of a real clock progresses", {}, async ({ control }) => {
    const stages = [{ type: "extraction", durationMs: 20 }];
    const { taskId } = await control.startTask({ taskType: "BINDER", progression: "timed", stages });
    await control.waitForDeliveries({ subject: taskId, event: "task.completed" });
  });

  withMock("a real clock is not moved", {}, async ({ clock, control }) => {
    await rejects(clock.advance(1), "CLOCK_IS_REAL");
    await rejects(control.advanceClock({ by: 1 }), "CLOCK_IS_REAL");
    await clock.settle();
    expect(await clock.runUntil(Promise.resolve(7))).toBe(7);
  });

  it("a call that gets no response has a time limit", async () => {
    useFakeTimers();
    const control = createControlClient({ baseUrl: "http://127.0.0.1:1", fetch: never, timeoutMs: 20 });
    await rejects(control.getHealth(), "REQUEST_TIMEOUT");
  });
}
