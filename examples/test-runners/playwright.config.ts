import { defineConfig } from "@playwright/test";

export default defineConfig({
  testMatch: "playwright-tasks.ts",
  workers: 1, // all tests share the mock, and each resets it
  use: { baseURL: "http://127.0.0.1:3000" },
  webServer: {
    command: "npx workspace-tasks mock exec --port 4010 -- npm run dev",
    url: "http://127.0.0.1:3000",
  },
});
