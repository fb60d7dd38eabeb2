import { expect } from "vitest";
import { ReceiverError } from "../../receiver-kit/errors.ts";
import type { AcceptContext, AcceptResult } from "../../receiver-kit/event/accept-result.ts";
import type { VerifiedWebhook } from "../../receiver-kit/signature/verifier.ts";
import { systemClock } from "../../receiver-kit/time/clock.ts";

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
/** From the acknowledgement to the receiver. */
const deliveredWithinMs = 20_000;
const pause = (ms: number) => new Promise<void>((resolve) => void systemClock.schedule(ms, resolve));

/** Stands for a receiver: keeps what it has accepted. */
export class IntakeTarget {
  isFailing = false;
  isSlow = false;
  failsNow = () => false;
  readonly #stored = new Map<string, AcceptedDelivery>();
  #attempts = 0;

  readonly accept = async (webhook: VerifiedWebhook, context: AcceptContext = {}): Promise<AcceptResult> => {
    this.#attempts += 1;
    if (this.isSlow) await pause(slowMs);
    if (this.isFailing || this.failsNow())
      throw new ReceiverError("INBOX_UNAVAILABLE", "the receiver fails, as the test demands");
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
    const endsAtMs = systemClock.monotonic() + deliveredWithinMs;
    while (!(await isReached())) {
      expect(systemClock.monotonic() < endsAtMs, `${what} within ${deliveredWithinMs} ms`).toBe(true);
      await pause(stepMs);
    }
  }

  checkStored({ webhook, context }: AcceptedDelivery): void {
    const stored = this.#stored.get(webhook.id);
    const { tenant, body, ...signed } = webhook;
    expect(stored?.webhook).toMatchObject(signed);
    expect(stored?.webhook.tenant?.id).toBe(tenant?.id);
    expect(Buffer.compare(stored?.webhook.body ?? Buffer.alloc(0), body)).toBe(0);
    expect(stored?.context.traceparent).toBe(context.traceparent);
  }
}
