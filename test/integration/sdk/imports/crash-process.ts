import type { CreateClientOptions, ImportJournal } from "@workspace-tasks/sdk";
import type { MemoryJournal } from "../../../support/memory-journal.ts";

/** A process that stops without a word at one of its steps: what it waits for then never comes. */
export interface CrashingProcess {
  readonly fetch: NonNullable<CreateClientOptions["fetch"]>;
  readonly journal: ImportJournal;
  /** Resolves when the process has stopped. */
  readonly stopped: Promise<"stopped">;
  /** The steps so far, by name. */
  readonly steps: readonly string[];
}

type Fetch = NonNullable<CreateClientOptions["fetch"]>;

const never = () => new Promise<never>(() => {});

/** @param stopAt the number of the step, from 1; `Infinity`: it runs to its end */
export function crashingProcess(serve: Fetch, durable: MemoryJournal, stopAt: number): CrashingProcess {
  const steps: string[] = [];
  let isStopped = false;
  let stop = (_: "stopped") => {};
  const stopped = new Promise<"stopped">((resolve) => {
    stop = resolve;
  });

  /** Whether the process stops here. */
  function stopsAt(step: string): boolean {
    if (isStopped) return true;
    steps.push(step);
    if (steps.length < stopAt) return false;
    isStopped = true;
    stop("stopped");
    return true;
  }

  return {
    steps,
    stopped,
    async fetch(url, init) {
      const name = operationOf(init);
      if (stopsAt(`${name} does not arrive`)) return never();
      const response = await serve(url, init);
      if (stopsAt(`the response to ${name} is lost`)) return never();
      return response;
    },
    journal: {
      async *open() {
        yield* durable.open();
      },
      async append(entries) {
        const text = entries.join(" ").slice(0, 40);
        if (stopsAt(`${text} is not written`)) return never();
        if (entries.length > 1 && stopsAt(`${text} is torn`)) {
          await durable.append(entries.slice(0, Math.floor(entries.length / 2)));
          return never();
        }
        await durable.append(entries);
        return stopsAt(`${text} is written`) ? never() : undefined;
      },
      close: () => (isStopped ? never() : durable.close()),
    },
  };
}

function operationOf(init: Parameters<Fetch>[1]): string {
  const { body, method } = init as { body?: unknown; method?: string };
  return typeof body === "string"
    ? (/(?:mutation|query) (\w+)/.exec(body)?.[1] ?? "request")
    : `upload ${method}`;
}
