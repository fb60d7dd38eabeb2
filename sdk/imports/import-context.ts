import type { CallScope } from "../call/call-scope.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Jobs } from "../operations/jobs.ts";
import type { Me } from "../operations/me.ts";
import type { Tasks } from "../operations/tasks.ts";
import type { TaxClients } from "../operations/tax-clients.ts";
import type { Works } from "../operations/works.ts";
import { type CallOptions, deadlineMsDefaults } from "../options.ts";
import type { Uploads } from "../uploads/uploads.ts";
import { type Settled, type SettleOptions, settle } from "./import-calls.ts";
import type { ImportPhase } from "./import-progress.ts";
import type { ImportJob } from "./import-state.ts";
import type { ImportLedger } from "./ledger.ts";

/** The calls that an import is made of. */
export interface ImportOperations {
  readonly jobs: Jobs;
  readonly works: Works;
  readonly uploads: Uploads;
  readonly taxClients: TaxClients;
  readonly tasks: Tasks;
  me(call: CallOptions): Promise<Me>;
}

/** What the chunks of one import share. */
export interface ImportContext {
  readonly operations: ImportOperations;
  readonly ledger: ImportLedger;
  readonly connectionId: string;
  readonly jobName: string;
  /** Ends with the import. */
  readonly scope: CallScope;
  readonly signal: AbortSignal;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly slots: <Value>(task: () => Promise<Value>) => Promise<Value>;
  /** Jobs without works. */
  readonly spareJobs: ImportJob[];
  enter(phase: ImportPhase): void;
  uploaded(bytes: number): void;
  /** A job was started, or abandoned. */
  resize(change: "grow" | "shrink"): void;
  /** Ends the import, and every call of it in flight. */
  end(error: unknown): void;
}

/** Options of every call: interactive calls go first, and a short `deadlineMs` of the client leaves time to wait for them. */
export const ofImports = { priority: "background", deadlineMs: deadlineMsDefaults.background } as const;

/** Sends a call of the import when there is a slot for it. */
export function call<Value>(
  { scope, random, signal, slots }: ImportContext,
  send: (options: CallOptions) => Promise<Value>,
  options: Pick<SettleOptions, "repeatsDoubt" | "onDoubt"> = {},
): Promise<Settled<Value>> {
  return slots(() => settle(() => send({ signal, priority: "background" }), { scope, random, ...options }));
}

/** Runs a task for each item. The first that fails ends the import; the others are waited for. */
export async function forEach<Item>(
  context: ImportContext,
  items: Iterable<Item>,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const run = (item: Item) =>
    task(item).catch((error: unknown) => {
      context.end(error);
      throw error;
    });
  const failed = (await Promise.allSettled([...items].map(run))).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}
