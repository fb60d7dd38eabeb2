// Tests of users run in a vm context (Jest, vitest's vmThreads) or with the globals of a DOM environment: errors, maps and
// signals are then of another realm than the code of Node.

import { once } from "node:events";
import { createContext, runInContext } from "node:vm";
import { asyncDispose, dispose, isError } from "@workspace-tasks/kernel/realm.ts";
import { createMockServer, createVirtualClock } from "@workspace-tasks/mock-server";
import { afterEach, expect, it, vi } from "vitest";
import { reasonOf } from "../../../mock-server/cli/read-settings.ts";
import { allowManyListeners, warn } from "../../../mock-server/host-process.ts";
import { failed } from "../../../mock-server/outbound.ts";

const context = createContext({});
const foreign = (code: string) => runInContext(code, context) as unknown;
const foreignError = () => foreign('Object.assign(new TypeError("gone"), { code: "ECONNRESET" })');

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

it("an error is recognised by its form", () => {
  expect(foreignError() instanceof Error).toBe(false);
  expect(isError(foreignError())).toBe(true);
  expect([{ message: "m" }, { message: 1, stack: "" }, "text", null, undefined].map(isError)).toEqual(
    Array(5).fill(false),
  );
  expect(failed(foreignError())).toEqual({
    status: null,
    error: "ECONNRESET: the receiver closed the connection",
  });
  expect(reasonOf(foreignError())).toBe("ECONNRESET");
});

it("a warning about an error is emitted, not thrown", async () => {
  const warning = once(process, "warning");
  expect(() => warn(foreignError())).not.toThrow();
  expect(await warning).toMatchObject([{ name: "TypeError", message: "gone" }]);
});

it("a signal that Node does not know has no limit of listeners", () => {
  expect(() => allowManyListeners(foreign("({ aborted: false })") as AbortSignal)).not.toThrow();
});

it("a clock and a map of receivers are accepted", async () => {
  const receivers = foreign('new Map([["http://127.0.0.1:1/webhooks", () => null]])') as ReadonlyMap<
    string,
    never
  >;
  await using mock = await createMockServer({ listen: false, clock: createVirtualClock(), receivers });
  await mock.control.createEndpoint({ url: "http://127.0.0.1:1/webhooks" });
  await expect(createMockServer({ receivers: {} as never })).rejects.toThrow("receivers: expected a Map");
});

it("without the symbols the methods have the names that compiled code looks for", async () => {
  expect([asyncDispose, dispose]).toEqual([Symbol.asyncDispose, Symbol.dispose]);
  const create = Symbol;
  const isMissing = (name: string | symbol) => name === "asyncDispose" || name === "dispose";
  const get = (_: object, name: string | symbol) => (isMissing(name) ? undefined : Reflect.get(create, name));
  // Symbol itself cannot hide its properties.
  vi.stubGlobal("Symbol", new Proxy((description?: string) => create(description), { get }));
  vi.resetModules();
  const again = await import("@workspace-tasks/kernel/realm.ts");
  expect([again.asyncDispose, again.dispose]).toEqual([
    Symbol.for("Symbol.asyncDispose"),
    Symbol.for("Symbol.dispose"),
  ]);
});
