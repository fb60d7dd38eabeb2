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

describe("misspelt fields", () => {
  it("of events do not compile, and the right ones do", () => {
    receiver.on("task.completed", async (event) => {
      // @ts-expect-error status
      void event.sttus;
      // @ts-expect-error taskId
      void event.taskID;
      // @ts-expect-error taxPrepResult
      void event.taxPrepReslt;
      // @ts-expect-error taxYear
      void event.taxPrepResult?.year;
      // @ts-expect-error severity
      void event.taxPrepResult?.reviewItems[0]?.severty;
      // @ts-expect-error clientId
      const { clientID } = event;
      void clientID;
      void [event.status, event.taskId, event.taxPrepResult?.taxYear, event.clientId];
      void event.taxPrepResult?.reviewItems[0]?.severity;
    });
    receiver.on("task.failed", (event) => {
      // @ts-expect-error customerError
      void event.customerEror;
      // @ts-expect-error action
      void event.customerError?.acton;
      void event.customerError?.action?.connectionId;
    });
    receiver.on("subtask.completed", (event) => {
      // @ts-expect-error subTaskId
      void event.subtaskId;
      // @ts-expect-error stages have no result
      void event.taxPrepResult;
      void [event.subTaskId, event.subTaskType];
    });
    receiver.on("documents.synced", (event) => {
      // @ts-expect-error inputDocumentId
      void event.documents[0]?.documentId;
      // @ts-expect-error documents
      void event.files;
      void event.documents[0]?.inputDocumentId;
    });
    receiver.onState("task", (event) => {
      // @ts-expect-error occurredAt
      void event.occuredAt;
      void event.occurredAt;
    });
    receiver.onBatch("task.*", async ([item]) => {
      // @ts-expect-error errorMessage
      void item?.event.errorMesage;
      void item?.event.errorMessage;
    });
    receiver.onStateBatch("subtask", async ([item]) => {
      // @ts-expect-error status
      void item?.event.state;
      void item?.event.status;
    });
    receiver.on("*", (event) => {
      // @ts-expect-error not of each event
      void event.taskId;
      void [event.event, event.additional["addedLater"]];
    });
    receiver.on("invoice.paid", (event) => {
      // @ts-expect-error it may have any name
      void event.amount;
      void event.additional["amount"];
    });
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
