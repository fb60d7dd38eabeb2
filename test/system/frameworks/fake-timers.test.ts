import { join } from "node:path";
import { expect, it } from "vitest";
import { RunningProgram } from "../../support/running-program.ts";

const modules = join(import.meta.dirname, "../../../examples/frameworks/node_modules");
const config = {
  rootDir: join(import.meta.dirname, "../../support/fake-timers"),
  testMatch: ["**/jest.ts"],
  testEnvironment: "node",
  testTimeout: 30_000,
  // Jest and the packages as a user has installed them.
  moduleDirectories: [modules, "node_modules"],
  transform: { "\\.ts$": join(modules, "@swc/jest") },
};
const doNotFake = ["setTimeout", "setImmediate", "clearTimeout", "nextTick", "queueMicrotask"];

it.each([
  ["by default", {}, "{}"],
  ["with doNotFake", {}, JSON.stringify({ doNotFake })],
  ["before the mock is loaded", { fakeTimers: { enableGlobally: true } }, "{}"],
])("every wait of a mock ends while Jest's timers are fake, %s", async (_, changes, options) => {
  const args = [join(modules, "jest/bin/jest.js"), "--config", JSON.stringify({ ...config, ...changes })];
  using program = new RunningProgram(args, { env: { FAKE_TIMERS: options } });
  const { code, output } = await program.ended();
  expect(output).toMatch(/Tests: .*10 passed/);
  expect(code).toBe(0);
});
