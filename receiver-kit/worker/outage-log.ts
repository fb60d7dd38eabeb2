import type { ReceiverSettings } from "../receiver-options.ts";

type Settings = Pick<ReceiverSettings, "clock" | "logger">;

/** Logs once that the inbox fails, every ten seconds that it still does, and once that it works again. */
export class OutageLog {
  readonly #settings: Settings;
  readonly #messages: { readonly begins: string; readonly ends: string };
  #failures = 0;
  #sinceMs = 0;
  #loggedAtMs = 0;

  constructor(settings: Settings, messages: { readonly begins: string; readonly ends: string }) {
    this.#settings = settings;
    this.#messages = messages;
  }

  /** How long every call has failed; `null` when the last one succeeded. */
  get failingForMs(): number | null {
    return this.#failures === 0 ? null : this.#settings.clock.monotonic() - this.#sinceMs;
  }

  add(err: unknown): void {
    const nowMs = this.#settings.clock.monotonic();
    this.#failures += 1;
    if (this.#failures === 1) this.#sinceMs = nowMs;
    else if (nowMs - this.#loggedAtMs < logEveryMs) return;
    this.#loggedAtMs = nowMs;
    this.#settings.logger.error({ err, failures: this.#failures }, this.#messages.begins);
  }

  end(): void {
    if (this.#failures > 0) this.#settings.logger.info({ failures: this.#failures }, this.#messages.ends);
    this.#failures = 0;
  }
}

const logEveryMs = 10_000;
