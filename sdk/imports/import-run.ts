import { FailureError, failure, onProgressFailed, toError } from "../call/failure.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type { CallOptions } from "../options.ts";
import { type CheckedOptions, type ImportParts, method } from "./import-input.ts";
import { createResult, type ImportResult } from "./import-result.ts";
import type { ClientStatus } from "./import-state.ts";
import { createLedger } from "./ledger.ts";
import { createLookUp } from "./look-up.ts";
import { type Settled, settle } from "./settle.ts";

type ClientError = Pick<WorkspaceTasksError, "code" | "message"> & Partial<WorkspaceTasksError>;

// As long as a journal may take for an entry.
const reportLimitMs = 30_000;
const context = { attempts: 0, operation: { method, name: undefined } };

/** One import in this process, and what all steps of it share. */
export type ImportRun = ReturnType<typeof createRun>;

export function createRun(options: CheckedOptions, parts: ImportParts) {
  const scope = parts.engine.openScope({ signal: options.signal });
  const { state, open, record, close } = createLedger(options, parts, scope);
  const controller = new AbortController();
  scope.onEnd(() => controller.abort());
  const jobsAtOnce = Math.min(2, options.concurrency);
  const signal: AbortSignal = controller.signal;
  let uploadedBytes = 0;
  let reporting: Promise<unknown> | undefined;
  /** What ended the import, unless its signal or the client did. */
  let cause: unknown;

  /** Ends the import, and every call of it in flight. */
  function end(error: unknown): void {
    if (scope.failure) return;
    cause = error ?? new Error(`${method}: clients threw no Error`);
    scope.end(failure("ABORTED", "another call ended the import"));
  }

  /** Reports the progress, unless a reader has not ended with that before: a slow one holds nothing up. */
  async function report(): Promise<void> {
    const { onProgress } = options;
    if (!onProgress || scope.failure) return;
    const onLimit = (ms: number) => failure("ON_PROGRESS_FAILED", `onProgress took longer than ${ms} ms`);
    const progress = { counts: { ...state.counts }, uploadedBytes };
    reporting ??= scope
      .within({ limitMs: reportLimitMs, onLimit }, () => onProgress(progress))
      .catch((error) => {
        const failed = error instanceof FailureError ? error.failure : onProgressFailed(error);
        end(toError({ ...failed, outcome: "rejected" }, context));
      })
      .finally(() => {
        reporting = undefined;
      });
    await reporting;
  }

  /** Sends a call of the import until its outcome is certain. */
  function call<Value>(
    send: (call: CallOptions) => Promise<Value>,
    repeatsDoubt = true,
  ): Promise<Settled<Value>> {
    const { random } = parts;
    return settle(() => send({ signal, priority: "background" }), { scope, random, repeatsDoubt });
  }

  /** Runs a task for each item, some at once. The first that fails ends the import; the others are waited for. */
  async function forEach<Item>(
    items: AsyncIterableIterator<Item> | IterableIterator<Item>,
    atOnce: number,
    task: (item: Item) => Promise<void>,
  ): Promise<void> {
    const work = async () => {
      for await (const item of items) {
        if (scope.failure) return;
        await task(item).catch(end);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, () => work().catch(end)));
    if (scope.failure) throw new FailureError(scope.failure);
  }

  return {
    options,
    parts,
    state,
    scope,
    signal,
    jobsAtOnce,
    callsPerJob: Math.floor(options.concurrency / jobsAtOnce),
    open: () => open(signal),
    record,
    report,
    forEach,
    call,
    lookUp: createLookUp(parts, scope, call),

    /** Settles a client with an error, whose message names it, and a document if it is about one. */
    settle(client: string, status: ClientStatus, error: ClientError, document?: string): void {
      const { code, message, outcome, attempts, httpStatus, requestId, cause } = error;
      const subject = document === undefined ? "" : `, document "${document}"`;
      // The names may be anything.
      const text = parts.redactor.text(`client "${client}"${subject}: ${message}`);
      const details = { outcome, attempts, httpStatus, requestId, cause };
      state.settle(client, status, new WorkspaceTasksError(code, text, details));
    },

    /** Settles a client that may have a task, or documents. */
    doubt(client: string, message: string): void {
      this.settle(client, "undecided", { code: "IMPORT_UNDECIDED", message, outcome: "unknown" });
    },

    uploaded(bytes: number): void {
      uploadedBytes += bytes;
      void report();
    },

    /** Imports to the end, and never leaves the journal open. */
    async run(importAll: () => Promise<void>): Promise<ImportResult> {
      try {
        if (scope.failure) throw new FailureError(scope.failure);
        void report();
        await importAll();
        await Promise.resolve(reporting).then(report);
      } catch (error) {
        end(error);
      }
      await close().catch(end);
      const ended = scope.failure;
      scope.dispose();
      if (!ended) return createResult(state, parts.redactor);
      throw cause ?? toError({ ...ended, outcome: "unknown" }, context);
    },
  };
}
