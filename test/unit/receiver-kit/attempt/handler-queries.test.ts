import { afterAll, describe, expect, it } from "vitest";
import { HandlerQueries } from "../../../../receiver-kit/attempt/handler-queries.ts";
import { leaseLost } from "../../../../receiver-kit/inbox/handler-transaction.ts";

const failure = new Error("no such table");

function watch<Handle extends object>(handle: Handle) {
  const late: string[] = [];
  const queries = new HandlerQueries({ handler: () => 'on("*")', onLate: (query) => late.push(query) });
  return { queries, late, handle: queries.watch(handle) };
}

const failing = () =>
  watch({ query: async (_statement: string): Promise<number> => Promise.reject(failure) });

// An unhandled rejection is looked for until the next turns of the event loop.
afterAll(async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
});

describe("a query of a handler", () => {
  it("is a promise like any other, for await, then, catch, finally and Promise.all", async () => {
    const { handle } = watch({ query: async (value: number) => value });
    const query = handle.query(1);
    expect(query).toBeInstanceOf(Promise);
    expect(await query).toBe(1);
    expect(await handle.query(2).then((value) => value + 1)).toBe(3);
    expect(await handle.query(3).finally(() => {})).toBe(3);
    expect(await Promise.all([handle.query(4), handle.query(5)])).toEqual([4, 5]);
    const [settled] = await Promise.allSettled([failing().handle.query("DELETE")]);
    expect(settled).toMatchObject({ status: "rejected", reason: failure });
    expect(
      await failing()
        .handle.query("DELETE")
        .catch(() => 6),
    ).toBe(6);
  });

  it.each<[string, (query: Promise<number>) => Promise<unknown>]>([
    ["await", async (query) => query],
    ["catch", (query) => query.catch(() => {})],
    ["then", (query) => query.then(null, () => {})],
    ["Promise.all", (query) => Promise.all([query])],
    ["Promise.allSettled", (query) => Promise.allSettled([query])],
    ["Promise.race", (query) => Promise.race([query])],
  ])("that fails counts as awaited with %s", async (_, use) => {
    const { queries, handle } = failing();
    await use(handle.query("DELETE FROM accounts")).catch(() => {});
    await expect(queries.settle()).resolves.toBeUndefined();
  });

  it("that fails without await makes the attempt fail, with that error as the cause", async () => {
    const { queries, handle } = failing();
    handle.query("DELETE FROM accounts WHERE name = 'Ada'");
    await expect(queries.settle()).rejects.toMatchObject({
      code: "QUERY_NOT_AWAITED",
      cause: failure,
      message: expect.stringMatching(/^on\("\*"\) did not await query\("DELETE FROM accounts WHERE …"\)/),
    });
  });

  it("that may be awaited later, as it failed before, is not held against the handler", async () => {
    const { queries, handle } = failing();
    const query = handle.query("DELETE FROM accounts");
    await new Promise((resolve) => setImmediate(resolve));
    await expect(query).rejects.toBe(failure);
    await expect(queries.settle()).resolves.toBeUndefined();
  });

  it("after the end of the handler is not executed: it is rejected, counted, and no unhandled rejection", async () => {
    const executed: string[] = [];
    const { queries, late, handle } = watch({ query: async (text: string) => void executed.push(text) });
    queries.end("had returned");
    handle.query("DELETE FROM accounts");
    await expect(handle.query("DELETE FROM accounts")).rejects.toMatchObject({
      code: "TRANSACTION_ENDED",
      message:
        'the transaction of this event has ended: on("*") had returned before query("DELETE FROM accounts …") was called; await every query',
    });
    expect({ executed, late: late.length }).toEqual({ executed: [], late: 2 });
  });

  it("that fails because the lease was lost leaves it at that", async () => {
    const lost = leaseLost();
    const { queries, handle } = watch({ query: async () => Promise.reject(lost) });
    handle.query();
    await expect(queries.settle()).rejects.toBe(lost);
  });

  it("is named as the cause when a later query fails, and not when the handler throws something else", async () => {
    const { queries, handle } = failing();
    handle.query("DELETE FROM accounts");
    const second = await handle.query("SELECT 1").catch((error: unknown) => error);
    expect(() => queries.throwCauseOf(second)).toThrow(/did not await query\("DELETE FROM accounts …"\)/);
    expect(() => queries.throwCauseOf(new Error("other"))).toThrow("other");
  });

  it("on a client that a function resolves to is watched too, and the error of one with a callback is the callback's", async () => {
    const received: unknown[] = [];
    const query = (..._: unknown[]): unknown => Promise.reject(failure);
    const client = { query, escape: (text: string) => text };
    const { queries, handle } = watch({ client: async () => client });
    const own = await handle.client();
    own.query("SELECT 1", (error: unknown) => received.push(error));
    await expect(queries.settle()).resolves.toBeUndefined();
    own.query({ text: "UPDATE accounts SET name = 'Ada'" });
    await expect(queries.settle()).rejects.toThrow('query("UPDATE accounts SET …")');
    expect([received, own.escape("a")]).toEqual([[failure], "a"]);
  });
});
