import type { IncomingMessage, ServerResponse } from "node:http";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { isWebhookRejectedError } from "../errors.ts";
import { receivingBodiesOf } from "../http/receiving-bodies.ts";
import { nodeRequest } from "../http/request-body.ts";
import { endFailed, sendResponse } from "../http/send-response.ts";
import { type DeliverySink, handleWebhook, limitsOf } from "../http/webhook-handler.ts";
import type { NextFunction } from "./received-webhook.ts";

/** Fits Express 4 and 5, Connect, and `http.createServer` alike. */
export type WebhookRequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: NextFunction,
) => void;

/**
 * Receives deliveries at the path it is mounted on: verifies, stores durably, acknowledges.
 *
 * Reads the body itself, whatever its content type; mount it before `express.json()`. It sends the response and calls `next` only
 * with the error of a response that could not be written: 200 accepted, duplicate or quarantined; 400 malformed; 401 signature or age; 403
 * another tenant's workspace; 405; 408; 413; 415; 429 backlog full and 503 unavailable, both with `Retry-After`; 500 when the
 * body was parsed before.
 *
 * @example examples/receiver-kit.test.ts#express
 * ```ts
 * app.post("/webhooks", webhookMiddleware(receiver)); // before any body parser
 * app.use(express.json());
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` for what is no receiver
 * @see interface §6, "Delivery headers and verification"
 */
export function webhookMiddleware(receiver: DeliverySink): WebhookRequestHandler {
  const limits = limitsOf("webhookMiddleware", receiver);
  const bodies = receivingBodiesOf(receiver, limits);
  const { clock = systemClock } = receiver;
  return (request, response, next) => {
    const received = nodeRequest("webhookMiddleware", request, response, bodies, clock);
    handleWebhook(receiver, received)
      .then((result) => sendResponse(request, response, result, limits, clock))
      .catch((error: unknown) => {
        if (isWebhookRejectedError(error)) notifyListener(receiver.onRejected, error);
        endFailed(error, response, next);
      });
  };
}
