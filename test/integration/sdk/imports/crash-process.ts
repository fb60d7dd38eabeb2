import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import {
  type CreateClientOptions,
  type ImportOptions,
  type ImportResult,
  type WorkspaceTasksClient,
  WorkspaceTasksError,
} from "@workspace-tasks/sdk";
import type { ImportFixture } from "../../../support/import-fixture.ts";
import type { MemoryJournal } from "../../../support/memory-journal.ts";

type Fetch = NonNullable<CreateClientOptions["fetch"]>;

/** An import in a process that halts without a word at one of its steps: what it waits for does not come, unless it continues. */
export interface CrashingProcess {
  /** Of the process; closed with the fixture. */
  readonly client: WorkspaceTasksClient;
  /** What the import resolves to, or rejects with. A process that has halted never ends. */
  readonly result: Promise<ImportResult>;
  /** Runs until the import has ended, or the process has halted. */
  readonly ended: Promise<ImportResult | "halted">;
  /** The steps so far, by name. */
  readonly steps: readonly string[];
  /** Halts it now. */
  halt(): void;
  /** Lets a halted process continue, as one of a container that was frozen. */
  continue(): void;
}

export interface CrashingProcessOptions extends Partial<ImportOptions> {
  /** A later process that opens it takes it from this one. */
  readonly durable: MemoryJournal;
  /** Default: the mock. */
  readonly serve?: Fetch;
  /** The number of the step, from 1. Default: it runs to its end. */
  readonly haltAt?: number;
  readonly onStep?: (step: number) => void;
  readonly clientOptions?: Partial<CreateClientOptions>;
}

const owners = new WeakMap<MemoryJournal, object>();

export function startProcess(fixture: ImportFixture, options: CrashingProcessOptions): CrashingProcess {
  const { mock, connectionId, jobName } = fixture;
  const { durable, serve = mock.fetch, haltAt, onStep, clientOptions, ...importOptions } = options;
  const steps: string[] = [];
  let hasHalted = false;
  const halted = deferred<"halted">();
  const continued = deferred();

  function reach(step: string): Promise<void> | undefined {
    if (!hasHalted) {
      steps.push(step);
      onStep?.(steps.length);
      if (haltAt !== undefined && steps.length >= haltAt) haltNow();
    }
    return hasHalted ? continued.promise : undefined;
  }

  function haltNow(): void {
    hasHalted = true;
    halted.resolve("halted");
  }

  const requireOwn = () => {
    if (owners.get(durable) !== options) throw new WorkspaceTasksError("JOURNAL_IN_USE", "taken over");
  };

  const fetch: Fetch = async (url, init) => {
    const name = operationOf(init);
    await reach(`${name} does not arrive`);
    const response = await serve(url, init);
    await reach(`the response to ${name} is lost`);
    return response;
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

  async function open() {
    owners.set(durable, options);
    return { read: () => durable.read(), append, close };
  }

  // A clock object of its own, so that the process has a rate limiter of its own.
  const client = fixture.createClient({ fetch, clock: { ...mock.clock }, ...clientOptions });
  const given = { connectionId, jobName, clients: [], ...importOptions };
  const result = client.partner.imports.start({ ...given, journal: { open } });
  const ended = mock.clock.runUntil(Promise.race([result, halted.promise]));
  ended.catch(() => {});
  return { client, result, ended, steps, halt: haltNow, continue: continued.resolve };
}

function operationOf(init: Parameters<Fetch>[1]): string {
  const { body, method } = init as { body?: unknown; method?: string };
  return typeof body === "string"
    ? (/(?:mutation|query) (\w+)/.exec(body)?.[1] ?? "request")
    : `upload ${method}`;
}
