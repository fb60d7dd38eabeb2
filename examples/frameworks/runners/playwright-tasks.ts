// A Playwright test of a page, with a world of the mock for each test.

// #region playwright
import { test as base, expect } from "@playwright/test";
import {
  type MockTestFixtures,
  type MockWorkerFixtures,
  mockFixtures,
} from "@workspace-tasks/mock-server/playwright";

const test = base.extend<MockTestFixtures, MockWorkerFixtures>(mockFixtures);

test("the page shows the task", async ({ request, world }) => {
  const { taskId } = await world.control.startTask({ taskType: "TAX_PREP" });
  const headers = { "x-api": world.baseUrl, "x-key": world.apiKey };
  const page = await request.get("/tasks", { headers });
  expect(await page.text()).toContain(`${taskId}: RUNNING`);
});
// #endregion
