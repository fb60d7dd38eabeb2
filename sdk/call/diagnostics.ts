import { channel } from "node:diagnostics_channel";
import type { ErrorCode } from "../errors.ts";
import type { OperationKind, Router } from "./operation.ts";

/**
 * What the SDK tells about its work, through `node:diagnostics_channel` and the optional logger. An event is built
 * only when somebody listens. No event holds variables, answers, keys or tokens.
 */
export interface DiagnosticsEvents {
  "workspace-tasks:call:start": CallEvent;
  /** The call left the queue before the allowance. */
  "workspace-tasks:call:queued": CallEvent & { readonly queuedMs: number };
  /** A request is about to be sent. */
  "workspace-tasks:call:attempt": CallEvent & { readonly attempt: number };
  /** An attempt failed, and the call goes on. */
  "workspace-tasks:call:retry": CallEvent & {
    readonly attempt: number;
    readonly code: ErrorCode;
    readonly reason: "repeat" | "fresh_token" | "wait_for_rate_limit";
    readonly delayMs: number;
  };
  "workspace-tasks:call:end": CallEvent & {
    readonly ok: boolean;
    readonly code: ErrorCode | undefined;
    readonly attempts: number;
    readonly queuedMs: number;
    readonly durationMs: number;
  };
  "workspace-tasks:token:refresh": {
    readonly router: Router;
    readonly reason: "first" | "due" | "expired" | "refused";
    readonly ok: boolean;
    readonly durationMs: number;
  };
  /** The service answered 429; everybody on this key waits. */
  "workspace-tasks:rate-limit": {
    readonly operationName: string | undefined;
    readonly retryAfterMs: number | undefined;
    readonly waitMs: number;
  };
}

export interface CallEvent {
  /** Same for all events of one call; counts up within one client. */
  readonly callId: number;
  readonly operationName: string | undefined;
  readonly kind: OperationKind;
  readonly router: Router;
}

/** The subset of pino's shape the SDK writes to. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The subset of pino's shape the SDK writes to. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type DiagnosticsChannel = keyof DiagnosticsEvents;
export type Emit = <Name extends DiagnosticsChannel>(
  name: Name,
  event: () => DiagnosticsEvents[Name],
) => void;

/** Names of the channels, for `diagnostics_channel.subscribe`. */
export const diagnosticsChannels: readonly DiagnosticsChannel[] = [
  "workspace-tasks:call:start",
  "workspace-tasks:call:queued",
  "workspace-tasks:call:attempt",
  "workspace-tasks:call:retry",
  "workspace-tasks:call:end",
  "workspace-tasks:token:refresh",
  "workspace-tasks:rate-limit",
];

// Held here for good: a channel nobody holds can be collected, and its subscribers with it.
const channels = new Map(diagnosticsChannels.map((name) => [name, channel(name)]));

const warnings = new Set<DiagnosticsChannel>(["workspace-tasks:call:retry", "workspace-tasks:rate-limit"]);

export function createEmit(logger: Logger | undefined): Emit {
  return (name, build) => {
    const subscribed = channels.get(name)?.hasSubscribers === true;
    if (!subscribed && !logger) return;
    const event = build();
    if (subscribed) channels.get(name)?.publish(event);
    if (!logger) return;
    try {
      logger[warnings.has(name) ? "warn" : "debug"](event, name);
    } catch {
      // A broken logger must not lose a call whose request may have been applied already.
    }
  };
}
