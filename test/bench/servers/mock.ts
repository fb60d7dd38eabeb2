import { createMockServer } from "@workspace-tasks/mock-server";
import { reportServer } from "../parent.ts";

// Token check, rate limiter and journal are active; only their limits are too high to reject a request.
const mock = await createMockServer({
  settings: { rateLimit: { requests: 1_000_000_000 }, tokenLifetimeSeconds: 86_400 },
});
const stages = ["document-classification", "tax-extraction", "reconciliation", "review"];
let clientId: string | undefined;
for (let count = 0; count < 50; count++) {
  const task = await mock.control.startTask({
    taskType: "TAX_PREP",
    progression: "manual",
    ...(clientId ? { clientId } : {}),
  });
  clientId = task.clientId;
  for (const subTaskType of stages)
    await mock.control.setStageStatus(task.taskId, { subTaskType, status: "COMPLETED" });
}
const { workspaceToken } = await mock.control.createTokens();
reportServer({ port: Number(new URL(mock.baseUrl).port), workspaceToken });
