import type { ReceiverSettings } from "../receiver-options.ts";

type Settings = Pick<ReceiverSettings, "clock" | "logger">;

/**
 * Logs once that the inbox fails, every ten seconds that it still does, and once that it works again: that is after ten
 * seconds without a failure, so that a database that fails now and then is one outage.
 */
export class OutageLog {
  readonly #settings: Settings;
  readonly #messages: { readonly begins: string; readonly ends: string };
  #failures = 0;
  /** When the calls that have failed without a success between them began to. */
  #failingSinceMs: number | undefined;
  #failedAtMs = 0;
  #loggedAtMs = 0;

  constructor(settings: Settings, messages: { readonly begins: string; readonly ends: string }) {
    this.#settings = settings;
    this.#messages = messages;
  }

  /** How long every call has failed; `null` when the last one succeeded. */
  get failingForMs(): number | null {
    return this.#failingSinceMs === undefined
      ? null
      : this.#settings.clock.monotonic() - this.#failingSinceMs;
  }

  add(err: unknown): void {
    const nowMs = this.#settings.clock.monotonic();
    this.#failures += 1;
    this.#failingSinceMs ??= nowMs;
    this.#failedAtMs = nowMs;
    if (this.#failures > 1 && nowMs - this.#loggedAtMs < logEveryMs) return;
    this.#loggedAtMs = nowMs;
    this.#settings.logger.error({ err, failures: this.#failures }, this.#messages.begins);
  }

  /** A call succeeded. */
  end(): void {
    this.#failingSinceMs = undefined;
    if (this.#failures === 0 || this.#settings.clock.monotonic() - this.#failedAtMs < logEveryMs) return;
    this.#settings.logger.info({ failures: this.#failures }, this.#messages.ends);
    this.#failures = 0;
  }
}

const logEveryMs = 10_000;
