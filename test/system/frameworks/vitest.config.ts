// Recipes with the real frameworks, against the packed build: `node --import tsx test/gates/framework-recipes.mjs` prepares and runs them.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../../..`,
    include: ["test/system/frameworks/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
