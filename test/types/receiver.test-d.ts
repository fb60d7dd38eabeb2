import {
  type EventPayloads,
  isTaskEvent,
  type SubtaskEvent,
  type TaskEvent,
  type WebhookEvent,
} from "@workspace-tasks/events";
import type { MemoryTransaction, Receiver } from "@workspace-tasks/receiver-kit";
import { describe, expectTypeOf, it } from "vitest";

declare const receiver: Receiver<MemoryTransaction>;

describe("the events of handlers", () => {
  it("are typed by their pattern", () => {
    receiver.on("task.completed", (event) => {
      expectTypeOf(event).toEqualTypeOf<EventPayloads["task.completed"]>();
      expectTypeOf(event.status).toEqualTypeOf<"COMPLETED">();
    });
    receiver.on("task.*", (event) => void expectTypeOf(event).toEqualTypeOf<TaskEvent>());
    receiver.onState("subtask", (event) => void expectTypeOf(event).toEqualTypeOf<SubtaskEvent>());
    receiver.on("*", (event) => void expectTypeOf(event).toEqualTypeOf<WebhookEvent>());
  });

  it("of names that the catalog may add are narrowed by the guards", () => {
    receiver.on("task.cancelled", (event) => {
      expectTypeOf(event).toEqualTypeOf<WebhookEvent>();
      if (isTaskEvent(event)) expectTypeOf(event.taskId).toEqualTypeOf<string>();
    });
    // @ts-expect-error state handlers are for tasks and stages
    receiver.onState("job", () => {});
  });

  it("have required envelopes and optional details", () => {
    expectTypeOf<TaskEvent["taskId"]>().toEqualTypeOf<string>();
    expectTypeOf<TaskEvent["clientId"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<NonNullable<TaskEvent["taxPrepResult"]>["taxYear"]>().toEqualTypeOf<number | undefined>();
  });
});
