import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { realClock, scheduleAwakeLimit } from "./time/real-clock.ts";

/** How the service reaches other computers: over sockets (`http`) or as functions (`in-process`). */
export interface Transport {
  /** Sends one delivery attempt; never rejects. */
  deliver(request: DeliveryRequest): Promise<DeliveryResponse>;
  /** Reads a URL (connection check, artifact download); never rejects. */
  read(url: string, headers: Readonly<Record<string, string>>): Promise<ReadResponse>;
  /** Aborts all requests in flight, which then resolve with an error. New requests are sent. */
  abort(): void;
  /** Replaces the check of a provider connection; `true` means the platform accepted it. */
  checkConnection?(check: ConnectionCheck): boolean | Promise<boolean>;
}

export interface ConnectionCheck {
  readonly connectionId: string;
  readonly workspaceId: string;
  readonly providerKey: string;
  /** What the start step was given. */
  readonly inputs: unknown;
}

export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Not shared; TypeScript before 5.7 has no shorter form for that. */
  readonly body: Uint8Array & { readonly buffer: ArrayBuffer };
  readonly timeoutMs: number;
}

export interface TransportFailure {
  readonly status: null;
  readonly error: string;
}

export type DeliveryResponse =
  | {
      readonly status: number;
      readonly headers: Record<string, string>;
      readonly body: string;
      /** Whether the body was longer; its end was not read. */
      readonly isTruncated?: boolean | undefined;
    }
  | TransportFailure;

export type ReadResponse =
  | { readonly status: number; readonly bytes: number; readonly mimeType: string }
  | TransportFailure;

/** A receiver in this process: called in place of a socket. */
export type ReceiverFunction = (request: Request) => Response | Promise<Response>;

/**
 * Deliveries to a URL that `receivers` has (by its exact text) call that function; everything else goes to
 * `fallback`.
 */
export function createInProcessTransport(
  receivers: ReadonlyMap<string, ReceiverFunction>,
  fallback: Transport,
  clock: Clock = realClock,
): Transport {
  const inFlight = new Set<() => void>();

  const call = (receiver: ReceiverFunction, request: DeliveryRequest): Promise<DeliveryResponse> =>
    new Promise((resolve) => {
      const finish = (response: DeliveryResponse) => {
        cancelDeadline();
        inFlight.delete(abort);
        resolve(response);
      };
      const abort = () => finish({ status: null, error: "aborted" });
      const { timeoutMs } = request;
      const cancelDeadline = scheduleAwakeLimit(clock, timeoutMs, () => finish(timedOut(timeoutMs)));
      inFlight.add(abort);
      void callReceiver(receiver, request).then(finish);
    });

  return {
    deliver(request) {
      const receiver = receivers.get(request.url);
      return receiver ? call(receiver, request) : fallback.deliver(request);
    },
    read: fallback.read,
    abort() {
      for (const abort of [...inFlight]) abort();
      fallback.abort();
    },
  };
}

async function callReceiver(receiver: ReceiverFunction, request: DeliveryRequest): Promise<DeliveryResponse> {
  try {
    const { url, headers, body } = request;
    const response = await receiver(new Request(url, { method: "POST", headers, body }));
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    };
  } catch (error) {
    return failed(error);
  }
}

/** Instead of messages such as `connect ECONNREFUSED 127.0.0.1:3000`, which repeat code and address. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the receiver closed the connection",
  ENOTFOUND: "unknown host name",
};

/** A network failure in a few words: the system's code where there is one. */
export function failed(error: unknown): TransportFailure {
  if (!isError(error)) return { status: null, error: "failed" };
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  return {
    status: null,
    error: code ? `${code}: ${reasons[code] ?? (error.message || "connection failed")}` : error.message,
  };
}

/** @param hasBegun whether the head of the response has arrived */
export const timedOut = (timeoutMs: number, hasBegun = false): TransportFailure => ({
  status: null,
  error: `no ${hasBegun ? "complete " : ""}response within ${timeoutMs} ms`,
});
