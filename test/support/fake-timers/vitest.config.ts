import { defineConfig } from "vitest/config";

const conditions = ["workspace-tasks-source"];

/** Of `vi.useFakeTimers`, as JSON. */
const toFake = '{"toFake":["setTimeout","clearTimeout","setImmediate","setInterval"]}';
const runs = [
  { name: "by default" },
  { name: "with toFake", env: { FAKE_TIMERS: toFake } },
  { name: "before the mock is loaded", setupFiles: ["./vitest-setup.ts"] },
];

export default defineConfig({
  ssr: { resolve: { conditions: [...conditions, "node"], externalConditions: conditions } },
  test: {
    root: import.meta.dirname,
    include: ["vitest.ts"],
    testTimeout: 30_000,
    projects: runs.map((run) => ({ extends: true as const, test: run })),
  },
});
