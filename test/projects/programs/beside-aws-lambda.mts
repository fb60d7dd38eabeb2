import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { lambdaHandler } from "@workspace-tasks/receiver-kit/lambda";
import type {
  ALBEvent,
  ALBHandler,
  APIGatewayProxyEvent,
  APIGatewayProxyEventV2,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  LambdaFunctionURLEvent,
  LambdaFunctionURLHandler,
} from "aws-lambda";

const handler = lambdaHandler(createReceiver({ secrets: [], inbox: memoryInbox() }));
export const gateway: APIGatewayProxyHandler = handler;
export const gatewayV2: APIGatewayProxyHandlerV2 = handler;
export const functionUrl: LambdaFunctionURLHandler = handler;
export const loadBalancer: ALBHandler = handler;
type Event = ALBEvent | APIGatewayProxyEvent | APIGatewayProxyEventV2 | LambdaFunctionURLEvent;
export const every = (event: Event) => handler(event);
