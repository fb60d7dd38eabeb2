import { join } from "node:path";
import { expect, it } from "vitest";
import { RunningProgram } from "../../../support/running-program.ts";

const vitest = "node_modules/vitest/vitest.mjs";
const config = join(import.meta.dirname, "../../../support/fake-timers/vitest.config.ts");

it.each([
  ["by default", {}],
  ["with toFake", { FAKE_TIMERS: '{"toFake":["setTimeout","clearTimeout","setImmediate","setInterval"]}' }],
  ["before the mock is loaded", { FAKE_FROM_START: "1" }],
])("every wait of a mock ends while vitest's timers are fake, %s", async (_, env) => {
  using program = new RunningProgram([vitest, "run", "--config", config], { env });
  const { code, output } = await program.ended();
  expect(output).toMatch(/Tests .*11 passed/);
  expect(code).toBe(0);
});
