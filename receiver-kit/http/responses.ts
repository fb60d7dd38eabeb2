// Every HTTP response of the kit. A sender learns only what it can act on: no response says which check rejected the
// request, and an accepted delivery, a duplicate and a quarantined one get the same bytes.

import { isReceiverError, isWebhookRejectedError } from "../errors.ts";

export interface WebhookResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text: Node writes it together with the headers, in one piece. */
  readonly body: string;
}

export const acknowledged = createResponse(200, { received: true });

/** How to mount the receiver when something read the body before it, or ended the request. */
export const mountingHint =
  "the request body was read before the webhook receiver saw it, so its signature cannot be checked. " +
  "mount the receiver before express.json() and other body parsers: " +
  "Express and NestJS: app.use(path, webhookMiddleware(receiver)) before the parser, or keep the bytes as request.rawBody; " +
  "Koa: the route before koa-bodyparser; Fastify: removeAllContentTypeParsers() in the scope of the route; " +
  "Next.js and Hono: call receiver.fetch(request) before request.json(), and return its promise. " +
  "see docs/recipes/http-frameworks.md in the package";

const rejections: Readonly<Record<number, WebhookResponse>> = {
  400: createResponse(400, { error: "malformed webhook request" }),
  401: createResponse(401, { error: "unauthorized" }),
  403: createResponse(403, { error: "the event belongs to another workspace" }),
  405: createResponse(405, { error: "method not allowed" }, { allow: "POST" }),
  408: createResponse(408, { error: "request body too slow" }),
  413: createResponse(413, { error: "request body too large" }),
  415: createResponse(415, { error: "content encoding not supported" }, { "accept-encoding": "identity" }),
  500: createResponse(500, { error: mountingHint }),
};
const internalError = createResponse(500, { error: "internal error" });

/**
 * The response to an error. Never a redirect, which senders take for a failure, and never 409 for a duplicate, which
 * they would retry for days.
 */
export function responseFor(error: unknown): WebhookResponse {
  if (!isReceiverError(error)) return internalError;
  if (error.code === "BACKLOG_FULL") return retryLater(429, "too many deliveries", error.retryAfterSeconds);
  if (unavailable.has(error.code)) {
    return retryLater(503, "unavailable", error.retryAfterSeconds);
  }
  return (isWebhookRejectedError(error) && rejections[error.status]) || internalError;
}

const unavailable: ReadonlySet<string> = new Set([
  "INBOX_UNAVAILABLE",
  "BROKER_UNAVAILABLE",
  "RECEIVING_FULL",
  "SECRETS_UNAVAILABLE",
]);

function retryLater(status: number, error: string, retryAfterSeconds = 0): WebhookResponse {
  return createResponse(
    status,
    { error },
    { "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) },
  );
}

function createResponse(
  status: number,
  content: object,
  headers: Record<string, string> = {},
): WebhookResponse {
  const body = JSON.stringify(content);
  const length = String(Buffer.byteLength(body));
  return {
    status,
    headers: { "content-type": "application/json", "content-length": length, ...headers },
    body,
  };
}
