import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { scheduleAwakeLimit } from "../time/awake-limit.ts";
import { realClock } from "../time/real-clock.ts";
import { failed, timedOut } from "./failure.ts";
import type { DeliveryRequest, DeliveryResponse, Transport } from "./port.ts";

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
