// What a call cannot use is rejected by name, and not ignored.

import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";

const it = mockTest.extend({ mockOptions: { listen: false } });
const customerError = { code: "INTERNAL", action: { type: "CONTACT_SUPPORT" } } as const;
const taxPrepResult = {
  taxYear: 2025,
  returnType: "F1040",
  summary: "Done.",
  documentCount: 0,
  extractedFormCount: 0,
  reviewItemCount: 0,
  reviewItems: [],
};

describe("a status of a task", () => {
  it.for([
    [
      "COMPLETED",
      { errorMessage: "x" },
      "errorMessage: expected with the status FAILED only, got it with COMPLETED",
    ],
    ["COMPLETED", { customerError }, "customerError: expected with the status FAILED only"],
    ["COMPLETED", { withinRetryGrace: false }, "withinRetryGrace: expected with the status FAILED only"],
    [
      "FAILED",
      { taxPrepResult },
      "taxPrepResult: expected with the status COMPLETED only, got it with FAILED",
    ],
    [
      "COMPLETED",
      { taxPrepResult },
      "taxPrepResult: expected for a task of type TAX_PREP only, this one is BINDER",
    ],
  ] as const)("%s rejects %j", async ([status, change, message], { mock: { control } }) => {
    const { taskId } = await control.startTask({ taskType: "BINDER", progression: "manual" });
    const rejected = control.setTaskStatus(taskId, { status, ...change } as never);
    await expect(rejected).rejects.toMatchObject({
      code: "BODY_INVALID",
      message: expect.stringContaining(message),
    });
    expect((await control.getTask(taskId)).status).toBe("RUNNING");
  });

  it("takes null for a field that it does not have", async ({ mock: { control } }) => {
    const { taskId } = await control.startTask({ taskType: "BINDER", progression: "manual" });
    await control.setTaskStatus(taskId, { status: "COMPLETED", customerError: null, taxPrepResult: null });
    expect((await control.getTask(taskId)).status).toBe("COMPLETED");
  });

  it("of a stage rejects an error message of a completed one", async ({ mock: { control } }) => {
    const { taskId } = await control.startTask({ taskType: "BINDER", progression: "manual" });
    const change = { subTaskType: "extraction", status: "COMPLETED", errorMessage: "x" } as const;
    await expect(control.setStageStatus(taskId, change)).rejects.toMatchObject({ code: "BODY_INVALID" });
    expect((await control.getTask(taskId)).subTasks).toEqual([]);
  });
});

describe("a query", () => {
  it.for([
    ["/tasks?limit=0x2", 'limit: expected a number, got "0x2"'],
    ["/tasks?limit=1e1", "limit: expected a number"],
    ["/tasks?limit=1.0", 'limit: expected a number, got "1.0"'],
    ["/tasks?limit=-1", "limit: expected a number of at least 1, got -1"],
    ["/requests?after=-1", "after: expected a number of at least 0, got -1"],
    ["/search?text=a&limit=1.5", "limit: expected a whole number, got 1.5"],
    ["/tasks?limit=%201", "limit: expected a number"],
    ["/tasks?limit=1&limit=2", "limit: expected one value, got 2"],
    ["/requests?after=-0", "after: expected a number"],
    ["/requests?status=2e2", "status: expected a number"],
    ["/search?text=a&limit=", "limit: expected a number"],
    ["/deliveries/histogram?bars=1e1", "bars: expected a number"],
  ] as const)("%s is rejected", async ([path, message], { mock }) => {
    const response = await mock.fetch(`/_mock/v1${path}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: "QUERY_INVALID", message: expect.stringContaining(message) },
    });
  });
});
