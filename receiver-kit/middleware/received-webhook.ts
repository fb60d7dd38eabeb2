import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookEvent } from "../../sdk/events/index.ts";
import { acknowledged, responseFor } from "../http/responses.ts";
import { notifyListener } from "../http/webhook-handler.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";

/** What `verifyWebhook` leaves on the request for the handlers behind it. */
export type ReceivedWebhook = VerifiedWebhook & {
  /** The body read as an event; `undefined` when it cannot be, though its signature is right. */
  readonly event: WebhookEvent | undefined;
  /** Why there is no event; names what is wrong, never what was found. */
  readonly problem: string | undefined;
};

declare global {
  namespace Express {
    interface Request {
      /** The verified delivery; set by `verifyWebhook`. */
      webhook?: ReceivedWebhook;
    }
  }
}

export type RequestWithWebhook = IncomingMessage & { webhook?: ReceivedWebhook };
export type NextFunction = (error?: unknown) => void;

/** A middleware that either answers or passes the request on. Fits Express 4 and 5, and Connect. */
export type WebhookMiddleware = (
  request: RequestWithWebhook,
  response: ServerResponse,
  next: NextFunction,
) => void;

export type FailureListener = (error: unknown, webhook: VerifiedWebhook) => void;

/** Answers a request whose body was read: 200 without an error, else what the ladder says of it. */
export function endResponse(
  response: ServerResponse,
  error?: {
    readonly cause: unknown;
    readonly webhook: VerifiedWebhook;
    readonly onFailed?: FailureListener | undefined;
  },
): void {
  const answer = error ? responseFor(error.cause) : acknowledged;
  if (error) notifyListener(error.onFailed, error.cause, error.webhook);
  if (response.headersSent || response.destroyed) return;
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
}

/**
 * Does something when the handler ends its response, before the end is sent: what the sender is told is then
 * already recorded, and a handler that goes on after the sender has left is waited for all the same.
 */
export function interceptEnd(response: ServerResponse, settle: () => Promise<void>): void {
  const end = response.end;
  const held = (...args: unknown[]): ServerResponse => {
    response.end = end;
    void settle().then(() => Reflect.apply(end, response, args));
    return response;
  };
  response.end = held as ServerResponse["end"];
}

/** The mistake of mounting a later step without the first; reported to Express, as a fault of the application. */
export function missingWebhook(step: string): Error {
  return new Error(`${step}: no verified webhook on the request; mount verifyWebhook({ secrets }) before it`);
}
