import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import type { CallScope } from "../call/call-scope.ts";
import { FailureError, failure, onProgressFailed, toError } from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Engine } from "../engine/engine.ts";
import type { Jobs } from "../operations/jobs.ts";
import type { Me } from "../operations/me.ts";
import type { Tasks } from "../operations/tasks.ts";
import type { TaxClients } from "../operations/tax-clients.ts";
import type { Works } from "../operations/works.ts";
import type { CallOptions, ResolvedOptions } from "../options.ts";
import type { Uploads } from "../uploads/uploads.ts";
import { type CheckedOptions, method } from "./import-input.ts";
import { estimateMs, type ImportPhase, type ImportProgress } from "./import-progress.ts";
import { countsOf, createResult, type ImportResult } from "./import-result.ts";
import type { ImportJob, ImportState } from "./import-state.ts";
import { ImportLedger } from "./ledger.ts";
import { type Settled, settle } from "./settle.ts";

/** What an import uses of its client. */
export interface ImportParts extends Pick<ResolvedOptions, "clock" | "random" | "longDeadlineMs"> {
  readonly engine: Engine;
  readonly redactor: Redactor;
  readonly jobs: Jobs;
  readonly works: Works;
  readonly uploads: Uploads;
  readonly taxClients: TaxClients;
  readonly tasks: Tasks;
  me(call: CallOptions): Promise<Me>;
}

const context = { attempts: 0, operation: { method, name: undefined } };

/** One import in this process, and what all steps of it share. */
export class ImportRun {
  readonly options: CheckedOptions;
  readonly parts: ImportParts;
  readonly ledger: ImportLedger;
  /** Ends with the import, and `signal` with it. */
  readonly scope: CallScope;
  readonly signal: AbortSignal;
  readonly jobsAtOnce: number;
  /** Jobs without works. */
  readonly spareJobs: ImportJob[] = [];
  /** Clients that were read, and whether there are no more. */
  readonly input = { read: 0, isOver: false };
  #phase: ImportPhase = "reading";
  #uploadedBytes = 0;
  #isOver = false;
  #changed = deferred();
  /** What ended the import, unless its signal or the client did. */
  #cause: unknown;

  constructor(options: CheckedOptions, parts: ImportParts) {
    const controller = new AbortController();
    this.options = options;
    this.parts = parts;
    this.ledger = new ImportLedger(options.journal, parts);
    this.scope = parts.engine.openScope({ signal: options.signal });
    this.scope.onEnd(() => controller.abort());
    this.signal = controller.signal;
    this.jobsAtOnce = Math.min(2, options.concurrency);
  }

  get state(): ImportState {
    return this.ledger.state;
  }

  /** Imports to the end, and never leaves the journal open. */
  async run(importAll: () => Promise<void>): Promise<ImportResult> {
    const reported = this.#report().catch(this.end);
    try {
      if (this.scope.failure) throw new FailureError(this.scope.failure);
      await importAll();
      this.#phase = "done";
      this.#isOver = true;
      this.change();
      await this.scope.race(reported);
    } catch (error) {
      this.end(error);
    }
    await this.ledger.close().catch(this.end);
    const ended = this.scope.failure;
    this.scope.dispose();
    this.#isOver = true;
    this.change();
    if (!ended) return createResult(this.state);
    throw this.#cause ?? toError({ ...ended, outcome: "unknown" }, context);
  }

  /** Sends a call of the import until its outcome is certain. */
  call<Value>(send: (options: CallOptions) => Promise<Value>, repeatsDoubt = true): Promise<Settled<Value>> {
    const { scope, signal } = this;
    const { random } = this.parts;
    return settle(() => send({ signal, priority: "background" }), { scope, random, repeatsDoubt });
  }

  /** Runs a task for each item, as many at once as a job may have calls. The first that fails ends the import. */
  async forEach<Item>(items: Iterable<Item>, task: (item: Item) => Promise<void>): Promise<void> {
    const waiting = [...items].values();
    const work = async () => {
      for (const item of waiting) await task(item);
    };
    const atOnce = Math.floor(this.options.concurrency / this.jobsAtOnce);
    await this.together(atOnce, work);
  }

  /** Runs some workers to their ends. The first that fails ends the import; the others are waited for. */
  async together(count: number, work: () => Promise<void>): Promise<void> {
    const failed = (error: unknown) => this.end(error);
    await Promise.all(Array.from({ length: count }, () => work().catch(failed)));
    if (this.scope.failure) throw new FailureError(this.scope.failure);
  }

  enter(phase: ImportPhase): void {
    this.#phase = phase;
    this.change();
  }

  uploaded(bytes: number): void {
    this.#uploadedBytes += bytes;
    this.change();
  }

  change(): void {
    this.#changed.resolve();
    this.#changed = deferred();
  }

  /** Ends the import, and every call of it in flight. */
  readonly end = (error: unknown): void => {
    if (this.scope.failure) return;
    this.#cause = error;
    this.scope.end(failure("ABORTED", "another call ended the import"));
  };

  /** The latest progress, now and after changes: those between are left out, so that a slow reader holds nothing up. */
  async *progress(): AsyncGenerator<ImportProgress, void> {
    for (;;) {
      const [changed, isLast] = [this.#changed.promise, this.#isOver];
      yield this.#read();
      if (isLast) return;
      await changed;
    }
  }

  #read(): ImportProgress {
    const { clientsTotal: given, clients, worksPerJob } = this.options;
    const { read, isOver } = this.input;
    const clientsTotal = given ?? lengthOf(clients) ?? (isOver ? read : null);
    const counts = countsOf(this.state);
    const rateLimit = this.parts.engine.rateLimitSnapshot("gateway");
    const isKnown = clientsTotal !== null && rateLimit !== undefined;
    const remainingMs = isKnown ? estimateMs(clientsTotal, counts, worksPerJob, rateLimit) : null;
    return { phase: this.#phase, counts, clientsTotal, uploadedBytes: this.#uploadedBytes, remainingMs };
  }

  async #report(): Promise<void> {
    const { onProgress } = this.options;
    if (!onProgress) return;
    for await (const progress of this.progress()) {
      try {
        await onProgress(progress);
      } catch (error) {
        throw toError(onProgressFailed(error), context);
      }
    }
  }
}

function lengthOf(clients: object): number | undefined {
  const { length, size } = clients as { length?: unknown; size?: unknown };
  return [length, size].find((count): count is number => typeof count === "number");
}
