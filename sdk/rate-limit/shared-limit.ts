import type { Failure } from "../call/failure.ts";
import { type SharedSlot, SharedSlots, type SharedSlotsOptions } from "./shared-slots.ts";

// One key's slots in a store. Background calls acquire with a lower limit, so that the slots beyond it are left to the
// other calls of all processes. Another call may use a slot that was acquired for a background call, not the reverse.

/** How many slots of the key may be in use. */
export interface SlotLimits {
  readonly all: number;
  readonly background: number;
  /** How long a slot is acquired for. */
  readonly leaseMs: number;
}

export interface SharedLimitListener {
  onChange(): void;
  /** The store failed, so the calls that wait for its slots fail too. */
  onFailure(failure: Failure): void;
}

export class SharedLimit {
  readonly #foreground: SharedSlots;
  readonly #background: SharedSlots;

  constructor(options: Omit<SharedSlotsOptions, "limit" | "leaseMs">, limits: SlotLimits) {
    const { all, background, leaseMs } = limits;
    this.#foreground = new SharedSlots({ ...options, limit: all, leaseMs });
    this.#background = new SharedSlots({ ...options, limit: background, leaseMs });
  }

  configure({ all, background, leaseMs }: SlotLimits): void {
    this.#foreground.configure(all, leaseMs);
    this.#background.configure(background, leaseMs);
  }

  connect(listener: SharedLimitListener): void {
    this.#foreground.connect(listener);
    this.#background.connect(listener);
  }

  take(use: "any" | "background"): SharedSlot | undefined {
    if (use === "background") return this.#background.take();
    return this.#foreground.take() ?? this.#background.take();
  }

  /** Sets how many calls could be sent now if there were slots. */
  request(foreground: number, background: number): void {
    this.#foreground.request(foreground);
    this.#background.request(background);
  }

  block(durationMs: number): void {
    this.#foreground.block(durationMs);
  }

  /** Resolves when every released slot has reached the store, or the store has failed. */
  async flush(): Promise<void> {
    await Promise.all([this.#foreground.flush(), this.#background.flush()]);
  }
}
