import { afterEach, expect, it } from "vitest";
import { builtInModule, nodeModule } from "../../../../sdk/kernel/node-module.ts";

const { getBuiltinModule } = process;

afterEach(() => {
  process.getBuiltinModule = getBuiltinModule;
});

it("loads a module of Node", () => {
  expect(nodeModule("node:os").hostname()).not.toBe("");
});

function throws() {
  throw new Error("not supported in the Edge Runtime");
}

it.each([undefined, () => undefined, throws])("says which module a runtime lacks", (loader) => {
  process.getBuiltinModule = loader as never;
  expect(builtInModule("node:diagnostics_channel")).toBe(undefined);
  expect(() => nodeModule("node:fs/promises")).toThrow("expected a runtime with node:fs/promises");
});
