// AWS has passed requests to functions in two shapes. API Gateway REST APIs (payload 1.0) and load balancers name the
// method `httpMethod` and list repeated headers in `multiValueHeaders`; HTTP APIs (payload 2.0) and function URLs name it
// `requestContext.http.method` and join repeated headers with a comma, which the header checks reject.

import type { RequestLimits } from "../options.ts";
import { findHeader, type WebhookHeaders } from "../signature/signature-headers.ts";
import { tooLarge } from "./receiving-bodies.ts";
import { checkHeaders } from "./request-body.ts";
import type { WebhookResponse } from "./responses.ts";
import { type DeliverySink, handleWebhook, limitsOf } from "./webhook-handler.ts";

/** The fields that are read of an event of API Gateway (payload 1.0 and 2.0), a function URL or a load balancer. */
export interface LambdaRequest {
  readonly body?: string | null | undefined;
  readonly isBase64Encoded?: boolean | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined;
  /** Payload 1.0 and load balancers. */
  readonly httpMethod?: string | undefined;
  readonly path?: string | undefined;
  /** Payload 2.0 and function URLs. */
  readonly rawPath?: string | undefined;
  /** Its `http.method` is read of payload 2.0 and function URLs; the types of the others have no such field. */
  readonly requestContext?: object | undefined;
}

export interface LambdaResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  /** For load balancers that pass lists of headers: these read no other field. */
  readonly multiValueHeaders?: Record<string, string[]>;
  readonly body: string;
}

export type LambdaHandler = (request: LambdaRequest) => Promise<LambdaResponse>;

/**
 * Receives deliveries in an AWS Lambda function: verifies, stores durably, acknowledges. The responses are those of
 * `webhookMiddleware`.
 *
 * The function is frozen after its response, so do not start the receiver there: store with it, and run the handlers in
 * a function with a schedule, or in a process.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` for what is no receiver
 */
export function lambdaHandler(receiver: DeliverySink): LambdaHandler {
  const limits = limitsOf("lambdaHandler", receiver);
  return async (request) => {
    const { status, headers, body } = await handleWebhook(receiver, {
      method: methodOf(request),
      url: request.rawPath ?? request.path,
      headers: headersOf(request),
      readBody: async () => readBody(request, limits),
    });
    return { statusCode: status, ...headersFor(request, headers), body };
  };
}

function methodOf({ httpMethod, requestContext }: LambdaRequest): string | undefined {
  const { http } = (requestContext ?? {}) as { readonly http?: { readonly method?: string } | undefined };
  return httpMethod ?? http?.method;
}

function headersFor(
  { headers, multiValueHeaders }: LambdaRequest,
  sent: WebhookResponse["headers"],
): Pick<LambdaResponse, "headers" | "multiValueHeaders"> {
  const lists = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, [value]]));
  return { headers: { ...sent }, ...(!headers && multiValueHeaders && { multiValueHeaders: lists }) };
}

/** Where there is a list of repeated headers, the other field has only the last of each. */
function headersOf({ headers, multiValueHeaders }: LambdaRequest): WebhookHeaders {
  return multiValueHeaders ?? headers ?? {};
}

function readBody(request: LambdaRequest, limits: RequestLimits) {
  checkHeaders(findHeader(headersOf(request), "content-encoding"), undefined, limits);
  const body = Buffer.from(request.body ?? "", request.isBase64Encoded ? "base64" : "utf8");
  if (body.byteLength > limits.bodyBytesMax) throw tooLarge(limits, body.byteLength);
  return body;
}
