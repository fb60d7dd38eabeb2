import { inSeries } from "@workspace-tasks/kernel/in-series.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure, onProgressFailed, toError } from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Engine } from "../engine/engine.ts";
import type { ResolvedOptions } from "../options.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { createSlots } from "./import-calls.ts";
import { type Chunk, importChunk, isComplete } from "./import-chunk.ts";
import { forEach, type ImportContext, type ImportOperations } from "./import-context.ts";
import { method, missingClient } from "./import-input.ts";
import type { CheckedOptions } from "./import-options.ts";
import { type ImportPhase, type ImportProgress, LatestValue, remainingMs } from "./import-progress.ts";
import { createResult, type ImportResult } from "./import-result.ts";
import type { ImportJob, ImportState } from "./import-state.ts";
import { ImportLedger } from "./ledger.ts";

/** What an import has from its client. */
export interface ImportClientOptions extends Pick<ResolvedOptions, "clock" | "random" | "longDeadlineMs"> {
  readonly redactor: Redactor;
}

export interface RunOptions {
  readonly engine: Engine;
  readonly operations: ImportOperations;
  readonly client: ImportClientOptions;
}

const context = { attempts: 0, operation: { method, name: undefined } };
const chunksAtOnce = 2;

/** One import in this process. */
export class ImportRun implements ImportContext {
  readonly operations: ImportOperations;
  readonly connectionId: string;
  readonly jobName: string;
  readonly ledger: ImportLedger;
  readonly scope: CallScope;
  readonly signal: AbortSignal;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly slots: ImportContext["slots"];
  readonly spareJobs: ImportJob[] = [];
  readonly #options: CheckedOptions;
  readonly #engine: Engine;
  readonly #latest = new LatestValue();
  #reader: ChunkReader | undefined;
  #phase: ImportPhase = "reading";
  #uploadedBytes = 0;
  #size: number;
  /** What ended the import, unless its signal or the client did. */
  #cause: unknown;

  constructor(options: CheckedOptions, { engine, operations, client }: RunOptions) {
    const controller = new AbortController();
    this.operations = operations;
    this.connectionId = options.connectionId;
    this.jobName = options.jobName;
    this.ledger = new ImportLedger(options.journal, client);
    this.scope = engine.openScope({ signal: options.signal });
    this.scope.onEnd(() => controller.abort());
    this.signal = controller.signal;
    this.random = client.random;
    this.redactor = client.redactor;
    this.slots = createSlots(options.concurrency);
    this.#options = options;
    this.#engine = engine;
    this.#size = options.worksPerJob;
  }

  /** Runs it to its end, and never leaves the journal open. */
  async run(): Promise<ImportResult> {
    const { onProgress } = this.#options;
    const reported = onProgress && report(this.progress(), onProgress).catch(this.end);
    try {
      await this.#importAll();
      this.enter("done");
      this.#latest.end();
      await this.scope.race(Promise.resolve(reported));
    } catch (error) {
      this.end(error);
    }
    this.#reader?.release();
    await this.ledger.close().catch(this.end);
    const ended = this.scope.failure;
    this.scope.dispose();
    this.#latest.end();
    if (ended) throw this.#error(ended);
    return createResult(this.ledger.state);
  }

  progress(): AsyncGenerator<ImportProgress, void> {
    return this.#latest.values(() => this.#read());
  }

  readonly enter = (phase: ImportPhase): void => {
    this.#phase = phase;
    this.#latest.change();
  };

  readonly uploaded = (bytes: number): void => {
    this.#uploadedBytes += bytes;
    this.#latest.change();
  };

  readonly resize = (change: "grow" | "shrink"): void => {
    const { worksPerJob } = this.#options;
    this.#size =
      change === "grow" ? Math.min(worksPerJob, this.#size * 2) : Math.max(1, Math.ceil(this.#size / 2));
  };

  readonly end = (error: unknown): void => {
    if (this.scope.failure) return;
    this.#cause = error;
    this.scope.end(failure("ABORTED", "another call ended the import"));
  };

  async #importAll(): Promise<void> {
    const { ledger, scope } = this;
    if (scope.failure) throw new FailureError(scope.failure);
    await ledger.open(this.#options);
    const { chunks, jobs } = await resumeJobs(this);
    this.#reader = new ChunkReader({
      clients: this.#options.clients,
      state: ledger.state,
      jobs,
      scope,
      sizeMax: () => this.#size,
      onRead: () => this.#latest.change(),
    });
    await importChunks(this, this.#reader, chunks);
    failMissing(ledger.state);
  }

  #read(): ImportProgress {
    const { clients, worksPerJob, clientsTotal: given } = this.#options;
    const clientsTotal = given ?? lengthOf(clients) ?? (this.#reader?.isOver ? this.#reader.count : null);
    const { counts } = createResult(this.ledger.state);
    const rateLimit = this.#engine.rateLimitSnapshot("gateway");
    return {
      phase: this.#phase,
      counts,
      clientsTotal,
      uploadedBytes: this.#uploadedBytes,
      remainingMs: remainingMs({ clientsTotal, counts, worksPerJob, rateLimit }),
    };
  }

  #error(ended: Failure): unknown {
    if (this.#cause === undefined) return toError({ ...ended, outcome: "unknown" }, context);
    return this.#cause instanceof FailureError ? toError(this.#cause.failure, context) : this.#cause;
  }
}

/** Of the jobs of an earlier process, those that need no input as chunks. One with artifacts in doubt must not be started. */
async function resumeJobs({ ledger, spareJobs }: ImportContext) {
  const chunks: Chunk[] = [];
  const jobs: ImportJob[] = [];
  for (const job of [...ledger.state.jobs.values()]) {
    const chunk = { clients: new Map(), mode: job.mode, job };
    if (job.clients.length === 0) spareJobs.push(job);
    else if (job.isStarting || isComplete(job, chunk.clients)) chunks.push(chunk);
    else if (job.attaching.size === 0) jobs.push(job);
    else await ledger.record(["derived", job.clients], ["abandoned", job.number]);
  }
  return { chunks, jobs };
}

async function importChunks(context: ImportContext, reader: ChunkReader, chunks: Chunk[]): Promise<void> {
  const next = inSeries();
  const workers = Array.from({ length: chunksAtOnce }, (_, index) => index);
  await forEach(context, workers, async () => {
    for (;;) {
      const chunk = chunks.shift() ?? (await next(() => reader.read()));
      if (!chunk) return;
      chunks.unshift(...(await importChunk(context, chunk)));
    }
  });
}

/** Nothing that the journal knows is forgotten. */
function failMissing(state: ImportState): void {
  for (const [externalId, { status, isSeen }] of state.clients)
    if (status === "open" && !isSeen) state.fail(externalId, missingClient());
}

function lengthOf(clients: object): number | undefined {
  const { length, size } = clients as { length?: unknown; size?: unknown };
  return [length, size].find((count): count is number => typeof count === "number");
}

/** Calls the listener with the latest value until there is none. */
async function report(
  values: AsyncIterable<ImportProgress>,
  onProgress: (progress: ImportProgress) => unknown,
) {
  for await (const value of values) {
    try {
      await onProgress(value);
    } catch (error) {
      throw toError(onProgressFailed(error), context);
    }
  }
}
