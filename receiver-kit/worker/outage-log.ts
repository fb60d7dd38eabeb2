import type { Clock } from "../../sdk/kernel/clock.ts";
import type { ReceiverLogger } from "../logger.ts";

export interface OutageMessages {
  readonly begins: string;
  readonly ends: string;
}

/** Logs once that the inbox fails, every ten seconds that it still does, and once that it works again. */
export class OutageLog {
  readonly #clock: Clock;
  readonly #logger: ReceiverLogger;
  readonly #messages: OutageMessages;
  #failures = 0;
  #sinceMs = 0;
  #loggedAtMs = 0;

  constructor({ clock, logger }: { clock: Clock; logger: ReceiverLogger }, messages: OutageMessages) {
    this.#clock = clock;
    this.#logger = logger;
    this.#messages = messages;
  }

  /** How long every call has failed; `null` when the last one succeeded. */
  get failingForMs(): number | null {
    return this.#failures === 0 ? null : this.#clock.monotonic() - this.#sinceMs;
  }

  add(err: unknown): void {
    const nowMs = this.#clock.monotonic();
    this.#failures += 1;
    if (this.#failures === 1) this.#sinceMs = nowMs;
    else if (nowMs - this.#loggedAtMs < logEveryMs) return;
    this.#loggedAtMs = nowMs;
    this.#logger.error({ err, failures: this.#failures }, this.#messages.begins);
  }

  end(): void {
    if (this.#failures > 0) this.#logger.info({ failures: this.#failures }, this.#messages.ends);
    this.#failures = 0;
  }
}

const logEveryMs = 10_000;
