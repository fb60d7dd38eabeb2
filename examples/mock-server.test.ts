// Calls the mock without a port, and with a clock that the test moves.

import { createMockServer, createVirtualClock } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";

// #region in-process
it("a client calls the mock in its process, without a port", async () => {
  await using mock = await createMockServer({ listen: false });
  const { apiKey, baseUrl, fetch } = mock;
  await using client = createClient({ apiKey, baseUrl, fetch });
  expect((await client.me()).__typename).toBe("WorkspaceUser");
});
// #endregion

// #region shared-clock
it("a client and the mock have one virtual clock", async () => {
  const clock = createVirtualClock();
  await using mock = await createMockServer({ listen: false, clock });
  const { apiKey, baseUrl, fetch } = mock;
  await using client = createClient({ apiKey, baseUrl, fetch, clock });
  await client.me();
  await clock.advance(86_400_000); // the token has expired: the client exchanges the key again
  expect((await client.me()).__typename).toBe("WorkspaceUser");
});
// #endregion

it("a test sets the status of a task and of its stages", async () => {
  await using mock = await createMockServer({ listen: false });
  const { control } = mock;
  // #region task-status
  const { taskId } = await control.startTask({ taskType: "TAX_PREP", progression: "manual" });
  await control.setStageStatus(taskId, { subTaskType: "tax-extraction", status: "COMPLETED" });
  await control.setTaskStatus(taskId, {
    status: "FAILED",
    errorMessage: "page 3 of w2.pdf is blank",
    customerError: { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } },
  });
  await control.setTaskPlan("TAX_PREP", { outcome: { status: "FAILED" } }); // of tasks that start later
  // #endregion
  expect(await control.getTask(taskId)).toMatchObject({ status: "FAILED" });
});
