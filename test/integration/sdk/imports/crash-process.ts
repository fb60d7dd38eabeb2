import { type CreateClientOptions, type ImportJournal, WorkspaceTasksError } from "@workspace-tasks/sdk";
import type { MemoryJournal } from "../../../support/memory-journal.ts";

type Fetch = NonNullable<CreateClientOptions["fetch"]>;

/** A process that halts without a word at one of its steps: what it waits for does not come, unless it continues. */
export interface CrashingProcess {
  readonly fetch: Fetch;
  readonly journal: ImportJournal;
  /** Resolves when the process has halted. */
  readonly halted: Promise<"halted">;
  /** The steps so far, by name. */
  readonly steps: readonly string[];
  /** Halts it now. */
  halt(): void;
  /** Lets a halted process continue, as one of a container that was frozen. */
  continue(): void;
}

export interface CrashingProcessOptions {
  readonly serve: Fetch;
  /** A later process that opens it takes it from this one. */
  readonly durable: MemoryJournal;
  /** The number of the step, from 1; `Infinity`: it runs to its end. */
  readonly haltAt: number;
  onStep?(step: number): void;
}

const owners = new WeakMap<MemoryJournal, object>();

export function crashingProcess(options: CrashingProcessOptions): CrashingProcess {
  const { serve, durable, haltAt, onStep } = options;
  const steps: string[] = [];
  let hasHalted = false;
  let halt = (_: "halted") => {};
  let resume = () => {};
  const halted = new Promise<"halted">((resolve) => {
    halt = resolve;
  });
  const continued = new Promise<void>((resolve) => {
    resume = resolve;
  });

  function reach(step: string): Promise<void> | undefined {
    if (!hasHalted) {
      steps.push(step);
      onStep?.(steps.length);
      if (steps.length >= haltAt) haltNow();
    }
    return hasHalted ? continued : undefined;
  }

  function haltNow(): void {
    hasHalted = true;
    halt("halted");
  }

  const requireOwn = () => {
    if (owners.get(durable) !== options) throw new WorkspaceTasksError("JOURNAL_IN_USE", "taken over");
  };

  return {
    steps,
    halted,
    halt: haltNow,
    continue: resume,
    async fetch(url, init) {
      const name = operationOf(init);
      await reach(`${name} does not arrive`);
      const response = await serve(url, init);
      await reach(`the response to ${name} is lost`);
      return response;
    },
    journal: {
      async open() {
        owners.set(durable, options);
        return { read: () => durable.read(), append, close };
      },
    },
  };

  async function append(entries: readonly string[]): Promise<void> {
    const text = entries.join(" ").slice(0, 40);
    await reach(`${text} is not written`);
    requireOwn();
    const torn = Math.floor(entries.length / 2);
    const first = entries.slice(0, torn);
    const isTorn = torn > 0 ? reach(`${text} is torn`) : undefined;
    if (isTorn) {
      await durable.append(first);
      await isTorn;
      requireOwn();
    }
    await durable.append(isTorn ? entries.slice(torn) : entries);
    await reach(`${text} is written`);
    requireOwn();
  }

  async function close(): Promise<void> {
    if (owners.get(durable) === options) await durable.close();
  }
}

function operationOf(init: Parameters<Fetch>[1]): string {
  const { body, method } = init as { body?: unknown; method?: string };
  return typeof body === "string"
    ? (/(?:mutation|query) (\w+)/.exec(body)?.[1] ?? "request")
    : `upload ${method}`;
}
