import { isError } from "@workspace-tasks/kernel/realm.ts";
import type { RabbitmqSettings } from "./rabbitmq-options.ts";

const everyMs = 60_000;
const linesMax = 8;

/**
 * The log of an intake or a consumer: one line per minute for each cause of an incident, and one when the incident is over.
 * Several places, such as queues, may have one incident: it is over with the last of them.
 */
export class IncidentLog {
  readonly #settings: Pick<RabbitmqSettings, "clock" | "logger">;
  readonly #places = new Map<string, Set<string>>();
  readonly #logged = new Set<string>();
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(settings: Pick<RabbitmqSettings, "clock" | "logger">) {
    this.#settings = settings;
  }

  /** @param incident what goes wrong, and what to do about it */
  add(incident: string, place: string, cause: unknown): void {
    const places = this.#places.get(incident) ?? new Set();
    this.#places.set(incident, places.add(place));
    this.#write("error", place, `${incident}: ${reasonOf(cause)}`, linesMax);
  }

  end(incident: string, place: string): void {
    const places = this.#places.get(incident);
    if (!places?.delete(place) || places.size > 0) return;
    this.#write("warn", place, `no longer: ${incident}`, 2 * linesMax);
  }

  #write(level: "error" | "warn", place: string, line: string, max: number): void {
    const { clock, logger } = this.#settings;
    const nowMs = clock.monotonic();
    if (nowMs - this.#sinceMs >= everyMs) {
      this.#sinceMs = nowMs;
      this.#logged.clear();
    }
    if (this.#logged.has(line) || this.#logged.size >= max) return;
    this.#logged.add(line);
    logger[level]({ place }, line);
  }
}

/** The messages of an error and of its causes. Values in those of PostgreSQL are left out. */
export function reasonOf(error: unknown): string {
  const texts = chainOf(error).map(({ code, message }) =>
    isDataError(code) ? `${message.replace(/"[^"]*"/g, '"…"')} (${code})` : message,
  );
  // Some repeat their cause.
  return texts.filter((text, index) => !texts[index - 1]?.includes(text)).join(": ");
}

/** What the inbox rejects because of the delivery itself: SQLSTATE class 22 is "data exception". */
export const isOwnFault = (error: unknown): boolean =>
  chainOf(error).some(({ code }) => code === "WORKSPACE_MISMATCH" || isDataError(code));

const isDataError = (code: unknown) => /^22\w{3}$/.test(String(code));

function chainOf(error: unknown): readonly { readonly code?: unknown; readonly message: string }[] {
  const chain: Error[] = [];
  for (let each = error; isError(each) && chain.length < 8; each = each.cause) chain.push(each);
  return chain.length > 0 ? chain : [{ message: String(error) }];
}
