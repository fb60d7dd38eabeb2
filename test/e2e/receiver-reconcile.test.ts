// The three products together: the mock sends, the receiver receives, and the SDK's client reads what was missed.

import { expect, it } from "vitest";
import { createReceiver, memoryInbox } from "workspace-tasks/receiver-kit";
import { createSdkFixture } from "../support/sdk-fixture.ts";

it("a receiver that missed deliveries gets the task states by reconciling, and late deliveries change nothing", async () => {
  let answer: (request: Request) => Promise<Response> = async () => new Response(null, { status: 500 });
  const url = "https://receiver.test/webhooks";
  await using fixture = await createSdkFixture("in-process", {
    mock: { receivers: new Map([[url, (request) => answer(request)]]) },
  });
  const { mock, client, advanceUntilSettled } = fixture;
  const { signingSecret } = await advanceUntilSettled(client.webhooks.endpoints.create({ url }));
  await using receiver = createReceiver({
    secrets: [signingSecret],
    inbox: memoryInbox({ clock: mock.clock }),
    clock: mock.clock,
  });
  const states: string[] = [];
  receiver.onState("task", ({ status, workspaceId }, { channel }) => {
    states.push(`${status} ${channel} ${workspaceId === mock.workspaceId}`);
  });
  receiver.onState("subtask", ({ subTaskType, status }, { channel }) => {
    states.push(`${subTaskType} ${status} ${channel}`);
  });
  await receiver.start();

  answer = (request) => receiver.fetch(request);
  const { taskId: id } = await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
  await mock.clock.advance(1_000);
  expect(states).toEqual(["RUNNING webhook true"]);

  answer = async () => new Response(null, { status: 500 });
  await mock.control.setStageStatus(id, { subTaskType: "tax-extraction", status: "COMPLETED" });
  await mock.control.setTaskStatus(id, { status: "COMPLETED" });
  await mock.clock.advance(1_200_000);
  expect(states).toHaveLength(1);

  expect(await advanceUntilSettled(receiver.reconcile(client))).toMatchObject({
    examined: 1,
    enqueued: 2,
    corrected: 0,
    unchanged: 0,
    missing: 0,
  });
  await mock.clock.advance(2_000);
  expect(states.slice(1).toSorted()).toEqual([
    "COMPLETED reconcile true",
    "tax-extraction COMPLETED reconcile",
  ]);

  answer = (request) => receiver.fetch(request);
  await mock.clock.advance(86_400_000);
  const { inbox } = await receiver.stats();
  expect(inbox.rows).toMatchObject({ pending: 0, dead: 0, quarantined: 0 });
  expect(states.filter((state) => state.startsWith("RUNNING"))).toHaveLength(1);
  expect(await advanceUntilSettled(receiver.reconcile(client, { runningForMs: 1 }))).toMatchObject({
    enqueued: 0,
  });
});
