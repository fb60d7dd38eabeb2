import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { expect, it } from "vitest";
import { useService } from "./harness.ts";
import { subscribe } from "./subscriber.ts";

const service = useService({
  settings: { tasks: { typesWithEvents: ["TAX_PREP", "SALES_TAX"] } },
});

/** A task of an unknown type with an unknown stage, failed for an unknown reason, and an unknown event. */
async function causeTheUnknown(workspaceId: string): Promise<string> {
  const { taskId } = await service.control.startTask({
    workspaceId,
    taskType: "SALES_TAX",
    progression: "manual",
  });
  await service.control.setStageStatus(taskId, {
    subTaskType: "quantum-audit",
    status: "COMPLETED",
  });
  await service.control.setTaskStatus(taskId, {
    status: "FAILED",
    customerError: { code: "NEW_CODE", action: { type: "NEW_ACTION", connectionId: null, deadline: "soon" } },
  });
  const catalog = await service.control.addCatalogEvent({ name: `new.event-${workspaceId.slice(-8)}` });
  await service.control.sendEvent({ workspaceId, name: catalog.name, payload: { taskId: null } });
  return taskId;
}

it("V1 the receiver handles unknown stages, events, fields and codes", async () => {
  await using all = await subscribe(service);
  await causeTheUnknown(all.workspaceId);
  const received = await all.receiver.received(4);

  const handled: string[] = [];
  await using receiver = createReceiver({
    secrets: [all.secret],
    inbox: memoryInbox(),
    clock: service.mock.clock,
  });
  receiver.on("*", (event) => {
    handled.push(event.event);
  });
  await receiver.start();
  for (const { headers, body } of received) {
    const request = new Request(all.receiver.url, {
      method: "POST",
      headers: headers as Record<string, string>,
      body: new Uint8Array(body),
    });
    expect((await receiver.fetch(request)).status).toBe(200);
  }
  await expect.poll(() => handled.length).toBe(4);
  expect(handled.toSorted()).toEqual([
    expect.stringMatching(/^new\.event-/),
    "subtask.completed",
    "task.failed",
    "task.running",
  ]);
  expect((await receiver.stats()).ingest).toMatchObject({ quarantined: 0 });
});
