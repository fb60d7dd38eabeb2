import { join } from "node:path";
import { expect, it } from "vitest";
import { RunningProgram } from "../../../support/running-program.ts";

const vitest = "node_modules/vitest/vitest.mjs";
const config = join(import.meta.dirname, "../../../support/fake-timers/vitest.config.ts");

it("every wait of a mock ends while vitest's timers are fake: by default, with toFake, and before the mock is loaded", async () => {
  using program = new RunningProgram([vitest, "run", "--config", config]);
  const { code, output } = await program.ended();
  expect(output).toMatch(/Tests .*30 passed/);
  expect(code).toBe(0);
});
