// What Stryker runs: the tests of one policy file, each test file with modules of its own, so that a mutant of a
// constant is evaluated again.

import { defineConfig } from "vitest/config";

const conditions = ["workspace-tasks-source"];

export default defineConfig({
  ssr: { resolve: { conditions: [...conditions, "node"], externalConditions: conditions } },
  // As in the suite: a test that is slow because the machine is busy has noticed nothing.
  test: { testTimeout: 60_000, include: (process.env["MUTATION_TESTS"] ?? "").split(",") },
});
