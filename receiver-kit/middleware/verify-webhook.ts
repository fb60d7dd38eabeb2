import { systemClock } from "../clock.ts";
import { WebhookRejectedError } from "../errors.ts";
import { parseDelivery } from "../event/parse-delivery.ts";
import { createMountingWarning } from "../http/mounting-warning.ts";
import type { RequestLimits } from "../http/request-body.ts";
import { defaultRequestLimits, readRequestBody } from "../http/request-body.ts";
import { responseFor } from "../http/responses.ts";
import { sendResponse } from "../http/send-response.ts";
import type { DeliverySink } from "../http/webhook-handler.ts";
import { notifyListener, verifyRequest } from "../http/webhook-handler.ts";
import { createVerifier, type VerifierOptions } from "../signature/verifier.ts";
import type { WebhookMiddleware } from "./received-webhook.ts";

export type VerifyWebhookOptions = VerifierOptions &
  Partial<RequestLimits> & {
    /** Told of every refused request. What it throws is ignored. Default: mounting mistakes become a process warning. */
    readonly onRejected?: DeliverySink["onRejected"];
  };

/**
 * The first of three composable steps: verifies a delivery and puts it on `request.webhook`, or answers itself.
 *
 * Reads the body itself, whatever its content type; mount it before `express.json()`. A delivery that is genuine
 * but cannot be read as an event is passed on with `event: undefined` and the `problem`.
 *
 * @throws {WebhookSecretError} at once when a secret cannot be right
 * @see interface §6, "Delivery headers and verification"
 */
export function verifyWebhook(options: VerifyWebhookOptions): WebhookMiddleware {
  const { clock = systemClock, onRejected = createMountingWarning(), ...rest } = options;
  const verifier = createVerifier({ ...rest, clock });
  const limits = {
    bodyBytesMax: options.bodyBytesMax ?? defaultRequestLimits.bodyBytesMax,
    bodyTimeoutMs: options.bodyTimeoutMs ?? defaultRequestLimits.bodyTimeoutMs,
  };
  return (request, response, next) => {
    const verified = verifyRequest(verifier, {
      method: request.method,
      headers: request.rawHeaders,
      readBody: () => readRequestBody(request, limits, clock),
    });
    verified
      .then(
        (webhook) => {
          const parsed = parseDelivery(webhook.body, clock.now());
          request.webhook = {
            ...webhook,
            event: parsed.ok ? parsed.event : undefined,
            problem: parsed.ok ? undefined : parsed.reason,
          };
          next();
        },
        (error: unknown) => {
          if (error instanceof WebhookRejectedError) notifyListener(onRejected, error);
          sendResponse(request, response, responseFor(error), limits, clock);
        },
      )
      .catch(next);
  };
}
