import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { strictOptions } from "@workspace-tasks/kernel/schema.ts";
import { isReceiverError, isWebhookRejectedError, type WebhookRejectedError } from "../errors.ts";
import { parseDelivery } from "../event/parse-delivery.ts";
import { ReceivingBodies } from "../http/receiving-bodies.ts";
import { nodeRequest } from "../http/request-body.ts";
import { responseFor } from "../http/responses.ts";
import { endFailed, requireUnsent, sendResponse } from "../http/send-response.ts";
import { type DeliverySink, verifyRequest } from "../http/webhook-handler.ts";
import { parseOptions, type RequestLimitOptions, sharedOptions } from "../options.ts";
import { requireEventsVersion } from "../require-events-version.ts";
import { throwIfOtherWorkspace } from "../signature/tenant.ts";
import { createVerifier, type VerifiedWebhook, type VerifierOptions } from "../signature/verifier.ts";
import { setReceived, type WebhookMiddleware } from "./received-webhook.ts";

export interface VerifyWebhookOptions extends VerifierOptions {
  readonly limits?: RequestLimitOptions | undefined;
  /**
   * Called for every rejected request. What it throws is ignored. Default: a body that was read before, and a response
   * that other code has sent, emit one process warning each.
   */
  readonly onRejected?: DeliverySink["onRejected"];
}

const verifyOptions = strictOptions<VerifyWebhookOptions>()({
  secrets: sharedOptions.secrets,
  toleranceSeconds: sharedOptions.toleranceSeconds,
  clock: sharedOptions.clock,
  limits: sharedOptions.limits,
  onRejected: sharedOptions.onRejected,
});

/**
 * The first of three composable middlewares: verifies a delivery and sets `request.webhook`, or sends the response.
 *
 * Reads the body itself, whatever its content type; mount it before `express.json()`. A genuine delivery that cannot be
 * parsed as an event is passed on with `event: undefined` and the `problem`.
 *
 * @example examples/receiver-kit.test.ts#middlewares
 * ```ts
 * const inbox = memoryInbox(); // in production sqliteInbox or postgresInbox
 * app.post(
 *   "/webhooks",
 *   verifyWebhook({ secrets: [signingSecret] }),
 *   dedupeWebhook({ inbox }),
 *   orderWebhook({ inbox }),
 *   (request, response) => {
 *     handled.push(request.webhook?.event?.event);
 *     response.sendStatus(204);
 *   },
 * );
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` or `SECRET_INVALID` for options that can never work, `VERSION_MISMATCH`
 * @see interface §6, "Delivery headers and verification"
 */
export function verifyWebhook(options: VerifyWebhookOptions): WebhookMiddleware {
  requireEventsVersion();
  const settings = parseOptions("verifyWebhook", verifyOptions, options);
  const { toleranceSeconds, clock, limits, onRejected = createMountingWarning() } = settings;
  const verifier = createVerifier({ secrets: options.secrets, toleranceSeconds, clock });
  const bodies = new ReceivingBodies(limits);
  return (request, response, next) => {
    const verified = verifyRequest(verifier, nodeRequest("verifyWebhook", request, response, bodies, clock));
    const pass = (webhook: VerifiedWebhook) => {
      const parsed = parseDelivery(webhook.body, clock.now(), webhook.tenant !== undefined);
      throwIfOtherWorkspace(webhook, parsed.workspace);
      setReceived(request, webhook, parsed);
      requireUnsent(response);
    };
    const respond = (error: unknown) => {
      if (isReceiverError(error, "RESPONSE_FAILED")) throw error;
      if (isWebhookRejectedError(error)) notifyListener(onRejected, error);
      sendResponse(request, response, responseFor(error), limits, clock);
    };
    verified
      .then(pass)
      .then(() => next(), respond)
      .catch((error: unknown) => {
        if (isWebhookRejectedError(error)) notifyListener(onRejected, error);
        endFailed(error, response, next);
      });
  };
}

/** A listener that emits one process warning for each mistake of the program by which every delivery would be rejected or lost. */
function createMountingWarning(): (rejection: WebhookRejectedError) => void {
  const unwarned = new Set(["BODY_CONSUMED", "RESPONSE_FAILED"]);
  return ({ code, message }) => {
    if (unwarned.delete(code)) process.emitWarning(message, { code: `WORKSPACE_TASKS_${code}` });
  };
}
