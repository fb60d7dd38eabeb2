// Starts the application under test before the tests.

import { defineConfig } from "@playwright/test";

const port = process.env["PORT"] ?? "3000";

export default defineConfig({
  testMatch: "playwright-tasks.ts",
  outputDir: "../dist/playwright",
  use: { baseURL: `http://127.0.0.1:${port}` },
  webServer: {
    command: "node ../dist/runners/task-page.js",
    url: `http://127.0.0.1:${port}`,
    env: { PORT: port },
  },
});
