import { inBackground } from "../background.ts";
import type { ReceiverSettings } from "../receiver-options.ts";

type Settings = Pick<ReceiverSettings, "clock" | "logger">;

/**
 * Logs once that the inbox fails, every ten seconds that it still does, and once that it works again: that is after ten
 * seconds without a failure, so that a database that fails now and then is one outage. Ten seconds after the last failure it asks
 * `probe`, which does what failed, so that an outage does not outlive its cause when nothing else is sent.
 */
export class OutageLog {
  readonly #settings: Settings;
  readonly #messages: { readonly begins: string; readonly ends: string };
  readonly #probe: (() => Promise<unknown>) | undefined;
  #cancelProbe = () => {};
  #isStopped = false;
  #failures = 0;
  /** When the calls that have failed without a success between them began to. */
  #failingSinceMs: number | undefined;
  #failedAtMs = 0;
  #loggedAtMs = 0;

  constructor(
    settings: Settings,
    messages: { readonly begins: string; readonly ends: string },
    probe?: () => Promise<unknown>,
  ) {
    this.#settings = settings;
    this.#messages = messages;
    this.#probe = probe;
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
    this.#scheduleProbe();
    if (this.#failures > 1 && nowMs - this.#loggedAtMs < logEveryMs) return;
    this.#loggedAtMs = nowMs;
    this.#settings.logger.error({ err, failures: this.#failures }, this.#messages.begins);
  }

  /** A call succeeded. */
  end(): void {
    this.#failingSinceMs = undefined;
    if (this.#failures === 0 || this.#settings.clock.monotonic() - this.#failedAtMs < logEveryMs) return;
    this.#settings.logger.warn({ failures: this.#failures }, this.#messages.ends);
    this.#failures = 0;
    this.#cancelProbe();
  }

  #scheduleProbe(): void {
    const probe = this.#probe;
    if (!probe || this.#isStopped) return;
    this.#cancelProbe();
    const ask = () => {
      inBackground(probe).then(
        () => this.end(),
        (error: unknown) => this.add(error),
      );
    };
    this.#cancelProbe = this.#settings.clock.schedule(logEveryMs, ask, { background: true });
  }

  /** Asks no more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelProbe();
  }
}

const logEveryMs = 10_000;
