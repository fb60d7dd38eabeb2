import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { Entries } from "../../../../sdk/rate-limit/rate-limiter.ts";
import { openEngine, probe } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { codeOf } from "../../../support/outcome-of.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** False when it does not after many collections. */
async function becomes(condition: () => boolean | Promise<boolean>): Promise<boolean> {
  for (let round = 0; round < 50; round += 1) {
    if (await condition()) return true;
    // What a WeakRef has returned is kept until the end of the turn.
    await turn();
    collectGarbage();
  }
  return false;
}

/** A function of its own, so that nothing on the stack of the test refers to the client. */
async function abandonWaitingClient(): Promise<WeakRef<object>> {
  const service = createFakeService({ limit: 1 });
  const { clock } = service;
  const engine = openEngine(service, { rateLimit: { requests: 1 } });
  const first = engine.execute(probe.query, {});
  await clock.advance(1_000);
  await first;
  // A timer of the clock waits for the next slot.
  void engine.execute(probe.query, {}).catch(() => {});
  await clock.settle();
  expect(clock.pending().timers).toBeGreaterThan(0);
  return new WeakRef(clock);
}

it("a client that is never closed is collected together with its clock, whose timers refer to it", async () => {
  const clock = await abandonWaitingClient();
  expect(await becomes(() => clock.deref() === undefined)).toBe(true);
});

it("a client that is never closed is collected while other clients use its key", async () => {
  const service = createFakeService();
  const useOnce = async () => {
    const engine = openEngine(service);
    const outcome = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(await outcome).toBe("no error");
    return new WeakRef(engine);
  };
  const abandoned = await useOnce();
  await useOnce();
  expect(await becomes(() => abandoned.deref() === undefined)).toBe(true);
});

it("a new key costs as much with many keys in use as with few, and those that are idle are dropped", () => {
  let asked = 0;
  let isUsed = true;
  const entries = new Entries<{ isIdle(): boolean }>();
  const open = (id: string) => {
    const isIdle = () => {
      asked += 1;
      return !isUsed;
    };
    return entries.get(id) ?? entries.add(id, { isIdle });
  };
  for (let key = 0; key < 10_000; key += 1) open(`${key}`);
  expect(asked).toBeLessThan(2 * 10_000);
  const first = open("0");
  isUsed = false;
  for (let key = 10_000; key < 30_000; key += 1) open(`${key}`);
  expect(open("0")).not.toBe(first);
});
