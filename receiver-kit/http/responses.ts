// Every HTTP answer the kit can give. A sender learns only what it can act on: no answer says which check
// refused it, and a first delivery, a duplicate and a quarantined one are answered with the same bytes.

import { BacklogFullError, InboxUnavailableError, WebhookRejectedError } from "../errors.ts";

export type WebhookResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

export const acknowledged: WebhookResponse = buildResponse(200, { received: true });

/** How to mount the receiver when something read the body before it. */
export const mountingHint =
  "the request body was read before the webhook receiver saw it, so its signature cannot be checked. " +
  "mount the receiver before express.json() and other body parsers, or give this path to the receiver alone: " +
  'app.post("/webhooks", webhookMiddleware(receiver)); app.use(express.json());';

const rejections: Readonly<Record<number, WebhookResponse>> = {
  400: buildResponse(400, { error: "malformed webhook request" }),
  401: buildResponse(401, { error: "unauthorized" }),
  405: buildResponse(405, { error: "method not allowed" }, { allow: "POST" }),
  408: buildResponse(408, { error: "request body too slow" }),
  413: buildResponse(413, { error: "request body too large" }),
  415: buildResponse(415, { error: "content encoding not supported" }, { "accept-encoding": "identity" }),
  500: buildResponse(500, { error: mountingHint }),
};
const failed = buildResponse(500, { error: "internal error" });

/**
 * The one ladder from what went wrong to what the sender is told. Never a redirect, which senders treat as
 * failure, and never 409 for a duplicate, which they would repeat for days.
 */
export function responseFor(error: unknown): WebhookResponse {
  if (error instanceof BacklogFullError)
    return retryLater(429, "too many deliveries", error.retryAfterSeconds);
  if (error instanceof InboxUnavailableError) return retryLater(503, "unavailable", error.retryAfterSeconds);
  if (!(error instanceof WebhookRejectedError)) return failed;
  if (error.code === "SECRETS_UNAVAILABLE") return retryLater(503, "unavailable", secretsRetryAfterSeconds);
  return rejections[error.status] ?? failed;
}

const secretsRetryAfterSeconds = 5;

function retryLater(status: number, error: string, retryAfterSeconds: number): WebhookResponse {
  return buildResponse(
    status,
    { error },
    { "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) },
  );
}

function buildResponse(
  status: number,
  content: object,
  headers: Record<string, string> = {},
): WebhookResponse {
  const body = Buffer.from(JSON.stringify(content));
  return {
    status,
    headers: { "content-type": "application/json", "content-length": String(body.length), ...headers },
    body,
  };
}
