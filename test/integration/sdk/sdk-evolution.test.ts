import { describe, expect, it } from "vitest";
import { createSdkFixture, type SdkFixture } from "../../support/sdk-fixture.ts";

type Json = Readonly<Record<string, unknown>>;

/** A client whose responses are changed to those of a later version of the service. */
function futureClient(fixture: SdkFixture, change: (key: string, value: unknown) => unknown) {
  return fixture.createClient({
    async fetch(input, init) {
      const response = await fixture.mock.fetch(input, init);
      const body = JSON.parse(await response.text(), (key, value: unknown) => change(key, value)) as Json;
      return Response.json(body, { status: response.status });
    },
  });
}

describe("V1 additions of the service", () => {
  it("V1 unknown statuses, roles and stages are passed on", async () => {
    await using fixture = await createSdkFixture("in-process");
    const { taskId } = await fixture.mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    await fixture.mock.control.setStageStatus(taskId, { subTaskType: "quantum-audit", status: "COMPLETED" });
    const client = futureClient(fixture, (key, value) => {
      if (key === "status" && value === "RUNNING") return "HIBERNATING";
      return key === "role" ? "owner" : value;
    });
    expect(await client.me()).toMatchObject({ role: "owner" });
    expect(await client.tasks.get(taskId)).toMatchObject({
      status: "HIBERNATING",
      subTasks: [{ type: "quantum-audit" }],
    });
  });

  it("V1 fields that were not selected are passed on", async () => {
    await using fixture = await createSdkFixture("in-process");
    const client = futureClient(fixture, (key, value) =>
      key === "user" ? { ...(value as Json), plan: "gold" } : value,
    );
    expect(await client.me()).toMatchObject({ user: { plan: "gold", email: "admin@example.com" } });
  });

  it("V1 an unknown kind of task result becomes TaskUnknownResult", async () => {
    await using fixture = await createSdkFixture("in-process");
    const { taskId } = await fixture.mock.control.startTask({
      taskType: "TAX_PREP",
      progression: "immediate",
    });
    const client = futureClient(fixture, (key, value) =>
      key === "result" ? { __typename: "TaskHologramResult" } : value,
    );
    const { result } = await client.tasks.waitFor(taskId);
    expect(result).toEqual({ __typename: "TaskUnknownResult", taskType: "TAX_PREP" });
  });

  it("V1 events added to the catalog are listed and can be subscribed to", async () => {
    await using fixture = await createSdkFixture("in-process");
    await fixture.mock.control.addCatalogEvent({
      name: "task.archived",
      description: "A task was archived.",
    });
    const { webhooks } = fixture.client;
    expect((await webhooks.catalog()).map(({ name }) => name)).toContain("task.archived");
    const { endpoint } = await webhooks.endpoints.create({
      url: "https://receiver.example/hook",
      eventTypes: ["task.archived"],
    });
    expect(endpoint.eventTypes).toEqual(["task.archived"]);
  });
});
