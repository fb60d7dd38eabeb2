import type { InboxLease, InboxStore } from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";

type Settings = Pick<ReceiverSettings, "leaseMs" | "clock" | "logger"> & {
  readonly inbox: Pick<InboxStore, "renew">;
};

/** The leases of a worker. All of them are renewed at a third of `leaseMs`. */
export class HeldLeases {
  readonly #settings: Settings;
  readonly #onLost: (lease: InboxLease) => void;
  /** When each ends, in monotonic time. */
  readonly #endsMs = new Map<InboxLease, number>();
  #cancelRenewal: (() => void) | undefined;
  #isStopped = false;

  /** `onLost`: a renewal did not confirm the lease, or it must have ended while renewals failed. */
  constructor(settings: Settings, onLost: (lease: InboxLease) => void) {
    this.#settings = settings;
    this.#onLost = onLost;
  }

  /** `sinceMs`: when it was requested, in monotonic time. */
  add(lease: InboxLease, sinceMs: number): void {
    this.#endsMs.set(lease, sinceMs + this.#settings.leaseMs);
    this.#cancelRenewal ??= this.#scheduleRenewal();
  }

  delete(lease: InboxLease): void {
    this.#endsMs.delete(lease);
    if (this.#endsMs.size > 0) return;
    this.#cancelRenewal?.();
    this.#cancelRenewal = undefined;
  }

  /** False also when it must have ended: the process may have been paused before the renewal noticed. */
  has(lease: InboxLease): boolean {
    return this.#settings.clock.monotonic() < (this.#endsMs.get(lease) ?? 0);
  }

  /** False when the inbox failed. */
  async renew(): Promise<boolean> {
    const { inbox, leaseMs, clock, logger } = this.#settings;
    this.#cancelRenewal?.();
    const leases = [...this.#endsMs.keys()];
    const startedMs = clock.monotonic();
    let held: ReadonlySet<InboxLease> | undefined;
    try {
      held = await inbox.renew(leases, leaseMs);
    } catch (error) {
      logger.warn({ err: error, keys: leases.length }, "leases could not be renewed");
    }
    for (const lease of leases) {
      const endsMs = this.#endsMs.get(lease);
      if (endsMs === undefined) continue;
      if (held?.has(lease)) this.#endsMs.set(lease, startedMs + leaseMs);
      else if (held || clock.monotonic() >= endsMs) this.#lose(lease);
    }
    this.#cancelRenewal?.();
    const isNeeded = this.#endsMs.size > 0 && !this.#isStopped;
    this.#cancelRenewal = isNeeded ? this.#scheduleRenewal() : undefined;
    return held !== undefined;
  }

  #lose(lease: InboxLease): void {
    this.#endsMs.delete(lease);
    this.#onLost(lease);
  }

  #scheduleRenewal(): () => void {
    const { clock, leaseMs } = this.#settings;
    return clock.schedule(leaseMs / 3, () => void this.renew(), { background: true });
  }

  /** Renews nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelRenewal?.();
    this.#cancelRenewal = undefined;
  }
}
