import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import { expect, it, vi } from "vitest";
import { toBindable } from "../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { consoleLogger } from "../../../receiver-kit/logger.ts";

// Jest and vitest's vm pools run a test in a realm of its own: errors and bytes of libraries come from another one.

it("an error of another realm is logged without the values in its fields, with its causes", () => {
  const error: unknown = runInNewContext(
    'Object.assign(new Error("failed", { cause: new Error("lost") }), { detail: "Key (name)=(Alma)" })',
  );
  const print = vi.spyOn(console, "error").mockImplementation(() => {});
  consoleLogger.error({ err: error }, "an event failed");
  const printed = inspect(print.mock.calls);
  print.mockRestore();
  expect(printed).toContain("Error: failed");
  expect(printed).toContain("caused by Error: lost");
  expect(printed).not.toContain("Alma");
});

it("bytes of another realm can be bound to a statement of SQLite", () => {
  const bytes: unknown = runInNewContext("new Uint8Array([1, 2])");
  expect(toBindable(bytes, 0)).toEqual(Buffer.from([1, 2]));
});
