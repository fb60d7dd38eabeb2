import { longestDelayMs } from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";

type Settings = Pick<ReceiverSettings, "inbox" | "source" | "clock" | "retry" | "leaseMs">;

/**
 * Which tenant is served next. Tenants with due rows take turns; who they are is asked once per turn of all of them, and
 * not for each row that a worker has room for.
 */
export class TenantTurns {
  readonly #settings: Settings;
  #inTurn: string[] = [];
  #served = "";
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Tenants that are still in turn. */
  get left(): number {
    return this.#inTurn.length;
  }

  /** Ends a turn that began long ago: others may wait by now. */
  expire(): void {
    if (this.#settings.clock.monotonic() - this.#askedAtMs > turnMsMax) this.#inTurn = [];
  }

  /** Begins a turn with the tenant after the one that was served last. Returns until when the next of the others waits. */
  async begin(): Promise<number | null> {
    const { inbox, source, clock } = this.#settings;
    this.#askedAtMs = clock.monotonic();
    const sources = await inbox.waitingSources(source);
    const isDue = (dueInMs: number) => dueInMs <= 0 || dueInMs > longestDelayMs(this.#settings);
    const due = sources.filter(({ dueInMs }) => isDue(dueInMs)).map(({ source }) => source);
    this.#inTurn = [
      ...due.filter((name) => name > this.#served),
      ...due.filter((name) => name <= this.#served),
    ];
    const later = sources.map(({ dueInMs }) => dueInMs).filter((dueInMs) => !isDue(dueInMs));
    return later.length > 0 ? Math.min(...later) : null;
  }

  /** The stored source of the next tenant. */
  next(): string | undefined {
    const source = this.#inTurn.shift();
    this.#served = source ?? this.#served;
    return source;
  }
}

const turnMsMax = 250;
