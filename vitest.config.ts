import { defineConfig } from "vitest/config";

// The tests import the package by its public names; this condition resolves them to the sources.
const conditions = ["workspace-tasks-source"];

export default defineConfig({
  ssr: {
    resolve: { conditions: [...conditions, "module", "node", "import"], externalConditions: conditions },
  },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"], tsconfig: "./tsconfig.json" },
  },
});
