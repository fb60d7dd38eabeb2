import { defineConfig } from "vitest/config";

const conditions = ["workspace-tasks-source"];

export default defineConfig({
  ssr: { resolve: { conditions: [...conditions, "node"], externalConditions: conditions } },
  test: {
    root: import.meta.dirname,
    include: ["vitest.ts"],
    setupFiles: process.env["FAKE_FROM_START"] ? ["./vitest-setup.ts"] : [],
    testTimeout: 30_000,
  },
});
