import { builtInModule } from "@workspace-tasks/kernel/node-module.ts";
import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import type { ErrorCode } from "../errors.ts";
import type { OperationKind, Router } from "./operation.ts";

/**
 * The events of the SDK, by channel of `node:diagnostics_channel`; an optional logger receives them too. An event is
 * built only when a subscriber or a logger exists. No event holds variables, data, keys or tokens.
 */
export interface DiagnosticsEvents {
  "workspace-tasks:call:start": CallEvent;
  /** The call waited for the rate limit and got its permit. */
  "workspace-tasks:call:queued": CallEvent & { readonly queuedMs: number };
  /** A request is about to be sent. */
  "workspace-tasks:call:attempt": CallEvent & { readonly attempt: number };
  /** A response was received. */
  "workspace-tasks:call:response": CallEvent & {
    readonly attempt: number;
    readonly httpStatus: number;
    readonly requestId: string | undefined;
    /** The headers of the response by lower-case name, without cookies; redacted. */
    readonly headers: Readonly<Record<string, string>>;
  };
  /** An attempt failed, and the call continues. */
  "workspace-tasks:call:retry": CallEvent & {
    readonly attempt: number;
    readonly code: ErrorCode;
    readonly reason: "repeat" | "fresh_token" | "wait_for_rate_limit";
    readonly delayMs: number;
    readonly httpStatus: number | undefined;
    readonly requestId: string | undefined;
  };
  "workspace-tasks:call:end": CallEvent & {
    readonly ok: boolean;
    readonly code: ErrorCode | undefined;
    /** The status of the last response, if there was one. */
    readonly httpStatus: number | undefined;
    readonly requestId: string | undefined;
    readonly attempts: number;
    readonly queuedMs: number;
    readonly durationMs: number;
  };
  "workspace-tasks:token:refresh": {
    readonly router: Router;
    readonly reason: "first" | "due" | "expired" | "rejected";
    readonly ok: boolean;
    readonly durationMs: number;
  };
  /** The service responded with 429; all calls with this key wait. */
  "workspace-tasks:rate-limit": {
    readonly operationName: string | undefined;
    readonly retryAfterMs: number | undefined;
    readonly waitMs: number;
  };
}

export interface CallEvent {
  /** The same in all events of one call; counts up within one client. */
  readonly callId: number;
  readonly operationName: string | undefined;
  readonly kind: OperationKind;
  readonly router: Router;
}

/** The methods of pino that the SDK uses. */
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

const levels: { readonly [Name in DiagnosticsChannel]: "debug" | "warn" } = {
  "workspace-tasks:call:start": "debug",
  "workspace-tasks:call:queued": "debug",
  "workspace-tasks:call:attempt": "debug",
  "workspace-tasks:call:response": "debug",
  "workspace-tasks:call:retry": "warn",
  "workspace-tasks:call:end": "debug",
  "workspace-tasks:token:refresh": "debug",
  "workspace-tasks:rate-limit": "warn",
};

/** Names of the channels, for `diagnostics_channel.subscribe`. */
export const diagnosticsChannels = Object.keys(levels) as readonly DiagnosticsChannel[];

// Not an import, with which no bundler builds for a browser. Browsers have no channels.
const diagnostics = builtInModule("node:diagnostics_channel");

// Kept for the life of the process: a channel without a reference can be collected, and its subscribers with it.
const channels = new Map(diagnosticsChannels.map((name) => [name, diagnostics?.channel(name)]));

export function createEmit(logger: Logger | undefined): Emit {
  return (name, build) => {
    const hasSubscribers = channels.get(name)?.hasSubscribers === true;
    if (!hasSubscribers && !logger) return;
    const event = build();
    if (hasSubscribers) channels.get(name)?.publish(event);
    // A broken logger must not lose a call whose request may have been applied already.
    callSafely(() => logger?.[levels[name]](event, name));
  };
}
