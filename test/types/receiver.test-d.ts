import {
  type EventPayloads,
  isTaskEvent,
  type SubtaskEvent,
  type TaskEvent,
  type WebhookEvent,
} from "@workspace-tasks/events";
import type { MemoryTransaction, Receiver } from "@workspace-tasks/receiver-kit";
import type { LambdaHandler, LambdaRequest } from "@workspace-tasks/receiver-kit/lambda";
import type * as aws from "aws-lambda";
import { describe, expectTypeOf, it } from "vitest";

declare const receiver: Receiver<MemoryTransaction>;
declare const handler: LambdaHandler;

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

describe("lambdaHandler", () => {
  it("is a handler of each event that it accepts, with the types of AWS", () => {
    expectTypeOf(handler).toExtend<aws.APIGatewayProxyHandler>();
    expectTypeOf(handler).toExtend<aws.APIGatewayProxyHandlerV2>();
    expectTypeOf(handler).toExtend<aws.ALBHandler>();
    expectTypeOf(handler).toExtend<aws.LambdaFunctionURLHandler>();
    expectTypeOf<aws.APIGatewayProxyEvent>().toExtend<LambdaRequest>();
    expectTypeOf<aws.APIGatewayProxyEventV2>().toExtend<LambdaRequest>();
    expectTypeOf<aws.ALBEvent>().toExtend<LambdaRequest>();
    expectTypeOf<aws.LambdaFunctionURLEvent>().toExtend<LambdaRequest>();
    expectTypeOf<
      aws.APIGatewayProxyWebsocketEventV2WithRequestContext<{ stage: string }>
    >().toExtend<LambdaRequest>();
    // Not an event of HTTP.
    expectTypeOf<{ body: number }>().not.toExtend<LambdaRequest>();
  });
});
