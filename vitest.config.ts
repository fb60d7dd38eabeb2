// Type tests (test/types) are proved by the compiler alone: `npm run typecheck`.
import { defineConfig } from "vitest/config";

// The tests import the package by its public names; this condition resolves them to the sources.
// They reach `require` in the packages too: with "import" or "module" among them, CommonJS packages such as
// Express would be handed ES modules.
const conditions = ["workspace-tasks-source"];

export default defineConfig({
  ssr: {
    resolve: { conditions: [...conditions, "node"], externalConditions: conditions },
  },
  test: {
    include: ["{test,examples}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/frameworks/**"], // scripts/framework-recipes.mjs
    globalSetup: "test/support/preconditions.ts",
    // The sources are imported once per worker and not once per file: half of the CPU time of a run was imports.
    isolate: false,
    setupFiles: "test/support/process-state.ts",
    // Bundles of patched products (test/simulation/patched-product.ts) need no second transformation.
    server: { deps: { external: [/[/\\]\.tmp[/\\]mutant-/] } },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // One more than the cores of a CI machine: many tests wait for processes, browsers and time limits.
    maxWorkers: 3,
  },
});
