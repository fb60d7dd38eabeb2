import { afterEach, expect, it } from "vitest";
import { nodeModule } from "../../../../sdk/kernel/node-module.ts";

const { getBuiltinModule } = process;

afterEach(() => {
  process.getBuiltinModule = getBuiltinModule;
});

it("loads a module of Node", () => {
  expect(nodeModule("node:os").hostname()).not.toBe("");
});

it.each([undefined, () => undefined])("says which module a runtime lacks", (loader) => {
  process.getBuiltinModule = loader as never;
  expect(() => nodeModule("node:fs/promises")).toThrow("expected a runtime with node:fs/promises");
});
