import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookAcceptor } from "./accepting.ts";
import { systemClock } from "./clock.ts";
import { WebhookRejectedError } from "./errors.ts";
import { readRequestBody } from "./request-body.ts";
import { sendAnswer } from "./send-answer.ts";
import { handleWebhook } from "./webhook-handler.ts";

/** Fits Express 4 and 5, Connect, and `http.createServer` alike. */
export type WebhookMiddleware = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Receives deliveries at the path it is mounted on: verifies, stores durably, acknowledges.
 *
 * Reads the body itself, whatever its content type; mount it before `express.json()`. It always answers and
 * never calls the next middleware.
 *
 * Answers: 200 accepted, duplicate or quarantined; 400 malformed; 401 signature or age; 405; 408; 413; 415;
 * 429 backlog full and 503 inbox unavailable, both with `Retry-After`; 500 when the body was parsed before.
 *
 * @see interface §6, "Delivery headers and verification"
 */
export function webhookMiddleware(receiver: WebhookAcceptor): WebhookMiddleware {
  const warnOfMounting = createMountingWarning();
  return (request, response) => {
    const clock = receiver.clock ?? systemClock;
    void handleWebhook(receiver, {
      method: request.method,
      headers: request.rawHeaders,
      readBody: () => warnOfMounting(readRequestBody(request, receiver.limits, clock)),
    }).then((answer) => sendAnswer(request, response, answer, receiver.limits, clock));
  };
}

/** Puts a mounting mistake on the process's warning channel, once: without it every delivery fails, silently. */
function createMountingWarning() {
  let warned = false;
  return (body: Promise<Uint8Array>): Promise<Uint8Array> =>
    body.catch((error: unknown) => {
      if (!warned && error instanceof WebhookRejectedError && error.code === "BODY_CONSUMED") {
        warned = true;
        process.emitWarning(error.message, { code: "WORKSPACE_TASKS_BODY_CONSUMED" });
      }
      throw error;
    });
}
