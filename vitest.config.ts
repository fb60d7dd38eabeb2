// Type tests (test/types) are compiled and not run, by `npm run typecheck`.
import { defineConfig } from "vitest/config";
import { filesOfGates } from "./test/support/longest-files.ts";
import { LongestFirst } from "./test/support/longest-first.ts";

// The tests import the package by its public names; this condition resolves them to the sources.
// They reach `require` in the packages too: with "import" or "module" among them, CommonJS packages such as
// Express would be handed ES modules.
const conditions = ["workspace-tasks-source"];

export default defineConfig({
  ssr: {
    resolve: { conditions: [...conditions, "node"], externalConditions: conditions },
  },
  test: {
    // One project: the files of a worker share what they have imported.
    include: ["test/{unit,integration,system}/**/*.test.ts", "examples/*.test.ts"],
    // A run may name them.
    exclude: filesOfGates.filter((file) => !process.argv.includes(file)),
    // Only the tests of `system` ask for programs, and for the servers that all files share: they start when first asked for.
    globalSetup: "test/support/shared-servers.ts",
    // The sources are imported once per worker and not once per file: half of the CPU time of a run was imports.
    isolate: false,
    setupFiles: "test/support/process-state.ts",
    // The tests of a file are shuffled: none depends on another. The order is always the same one; `--sequence.seed` tries others.
    sequence: { sequencer: LongestFirst, shuffle: { files: false, tests: true }, seed: 1_795_519_548_491 },
    // Half of the garbage collections of the young generation.
    execArgv: ["--max-semi-space-size=64"],
    // Bundles (test/integration/simulation/bundles.ts) need no second transformation.
    server: { deps: { external: [/[/\\]\.tmp[/\\]bundle-/] } },
    // They end what hangs, on a machine that is many times slower; no test measures time by them.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    // One more than the cores of a CI machine: many tests wait for processes, browsers and time limits.
    maxWorkers: 4,
  },
});
