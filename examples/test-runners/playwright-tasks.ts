import { expect, test as it } from "@playwright/test";
import { createControlClient } from "@workspace-tasks/mock-server";

const control = createControlClient({ baseUrl: "http://127.0.0.1:4010" });
it.beforeEach(() => control.reset());

it("the page shows how far a task is", async ({ page }) => {
  const { taskId } = await control.startTask({ taskType: "TAX_PREP", progression: "manual" });
  await page.goto("/tasks");
  await expect(page.getByText(taskId)).toContainText("RUNNING");
  await control.setTaskStatus(taskId, { status: "COMPLETED" });
  await page.reload();
  await expect(page.getByText(taskId)).toContainText("COMPLETED");
});

it("the page shows no task of another test", async ({ page }) => {
  await page.goto("/tasks");
  await expect(page.getByRole("heading")).toHaveText("Tasks");
  await expect(page.getByRole("listitem")).toHaveCount(0);
});
