import { join } from "node:path";
import { expect, it } from "vitest";
import { RunningProgram } from "../../../support/running-program.ts";

const vitest = "node_modules/vitest/vitest.mjs";
const config = join(import.meta.dirname, "../../../support/fake-timers/vitest.config.ts");

const title =
  "every wait of a mock ends while vitest's timers are fake: by default, with toFake, and before the mock is loaded";

// It starts vitest, which takes half a minute on a busy machine.
it(title, { timeout: 240_000 }, async () => {
  using program = new RunningProgram([vitest, "run", "--config", config]);
  const { code, output } = await program.ended();
  expect(output).toMatch(/Tests .*30 passed/);
  expect(code).toBe(0);
});
