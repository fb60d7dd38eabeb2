/// <reference lib="esnext.disposable" preserve="true" />

import { ReceiverError } from "../errors.ts";
import type { AcceptContext, AcceptResult } from "../event/accept-result.ts";
import type { DeliverySink } from "../http/webhook-handler.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";
import { systemClock } from "../time/clock.ts";
import { holds, same } from "./assertions.ts";

/** A running intake with one consumer. */
export interface IntakeFixture extends AsyncDisposable {
  /** Where requests bring deliveries. */
  readonly intake: Pick<DeliverySink, "accept">;
  /** The engine gets the next delivery, and its confirm does not arrive. */
  loseConfirm?(): Promise<void>;
  /** Ends the consumer as `kill -9` does, and starts another one. */
  killConsumer?(): Promise<void>;
  /** Ends the engine; it keeps what it has confirmed. Resolves with a function that starts it again. */
  stopEngine?(): Promise<() => Promise<void>>;
  /** The engine delivers what it has again, in another order. */
  reorder?(): Promise<void>;
}

export interface AcceptedDelivery {
  readonly webhook: VerifiedWebhook;
  readonly context: AcceptContext;
}

/** The n-th delivery: some with a tenant, a trace, or bytes that are no text. */
export function deliveryAt(n: number): AcceptedDelivery {
  const trace = n.toString(16).padStart(31, "0");
  const body =
    n % 5 === 0
      ? Uint8Array.from([0, 255, 254, n])
      : Buffer.from(JSON.stringify({ taskId: `task-${n % 4}`, n }));
  const tenant = n % 3 === 0 ? { id: `tenant-${n % 2}`, workspaceId: "workspace-1" } : undefined;
  return {
    webhook: {
      id: `msg_${n}`,
      timestamp: 1_772_323_200 + n,
      body,
      secretIndex: n % 2,
      ...(tenant && { tenant }),
    },
    context: n % 2 ? { traceparent: `00-1${trace}-00f067aa0ba902b7-01` } : {},
  };
}

const stepMs = 10;
const slowMs = 20;
const pause = (ms: number) => new Promise<void>((resolve) => void systemClock.schedule(ms, resolve));

/** Stands for a receiver: keeps what it has accepted. */
export class IntakeTarget {
  isFailing = false;
  isSlow = false;
  failsNow = () => false;
  readonly #deliveredWithinMs: number;
  readonly #stored = new Map<string, AcceptedDelivery>();
  #attempts = 0;

  constructor(deliveredWithinMs: number) {
    this.#deliveredWithinMs = deliveredWithinMs;
  }

  readonly accept = async (webhook: VerifiedWebhook, context: AcceptContext = {}): Promise<AcceptResult> => {
    this.#attempts += 1;
    if (this.isSlow) await pause(slowMs);
    if (this.isFailing || this.failsNow())
      throw new ReceiverError("INBOX_UNAVAILABLE", "the receiver fails, as the check demands");
    if (this.#stored.has(webhook.id)) return { outcome: "duplicate" };
    this.#stored.set(webhook.id, { webhook, context });
    return { outcome: "accepted" };
  };

  storedIds(): readonly string[] {
    return [...this.#stored.keys()];
  }

  async untilAttempted(): Promise<void> {
    await this.until(() => this.#attempts > 0, "no delivery was brought to the receiver");
  }

  async untilStored(all: readonly AcceptedDelivery[]): Promise<void> {
    const missing = () => all.filter(({ webhook }) => !this.#stored.has(webhook.id));
    await this.until(() => missing().length === 0, "acknowledged deliveries were lost");
  }

  async until(isReached: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const endsAtMs = systemClock.monotonic() + this.#deliveredWithinMs;
    while (!(await isReached())) {
      holds(systemClock.monotonic() < endsAtMs, `${what} within ${this.#deliveredWithinMs} ms`);
      await pause(stepMs);
    }
  }

  checkStored({ webhook, context }: AcceptedDelivery): void {
    const stored = this.#stored.get(webhook.id);
    const { tenant, ...signed } = webhook;
    const { tenant: storedTenant, ...storedWebhook } = stored?.webhook ?? webhook;
    same(storedWebhook, signed, `delivery ${webhook.id}`);
    same(storedTenant?.id, tenant?.id, `tenant of ${webhook.id}`);
    same(stored?.context.traceparent, context.traceparent, `trace of ${webhook.id}`);
  }
}
