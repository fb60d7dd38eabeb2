import type { CallScope } from "../call/call-scope.ts";
import type { Chunk } from "./import-chunk.ts";
import { type CheckedClient, checkClient } from "./import-input.ts";
import type { ImportOptions } from "./import-options.ts";
import type { ImportJob, ImportState } from "./import-state.ts";
import type { WorkMode } from "./journal/journal-entry.ts";

export interface ChunkReaderOptions {
  readonly state: ImportState;
  /** Those of an earlier process that need clients of the input. */
  readonly jobs: readonly ImportJob[];
  readonly clients: ImportOptions["clients"];
  readonly scope: CallScope;
  /** Clients of the next chunk, at most. */
  readonly sizeMax: () => number;
  /** Called after each client. */
  readonly onRead: () => void;
}

type Clients = Map<string, CheckedClient>;

// An iterable that never waits would leave no time for anything else.
const readsInARow = 1_000;

/** Gathers the clients of the input into chunks: those of a job of an earlier process together, new ones as they come. */
export class ChunkReader {
  readonly #options: ChunkReaderOptions;
  readonly #iterator: Iterator<unknown> | AsyncIterator<unknown>;
  readonly #gathered: Record<WorkMode, Clients> = { new: new Map(), doubt: new Map(), derived: new Map() };
  readonly #resumed = new Map<ImportJob, Clients>();
  #reads = 0;
  isOver = false;

  constructor(options: ChunkReaderOptions) {
    const { clients, jobs } = options;
    this.#options = options;
    this.#iterator =
      Symbol.asyncIterator in clients ? clients[Symbol.asyncIterator]() : clients[Symbol.iterator]();
    for (const job of jobs) this.#resumed.set(job, new Map());
  }

  /** Clients that were read. */
  get count(): number {
    return this.#reads;
  }

  /** Called again when it has resolved; `undefined` after the last chunk. */
  async read(): Promise<Chunk | undefined> {
    const { scope, onRead } = this.#options;
    while (!this.isOver) {
      // An iterator may throw, or return no promise.
      const next = async () => this.#iterator.next();
      const { done, value } = await scope.race(next());
      if (done === true) this.isOver = true;
      else {
        const chunk = this.#place(checkClient(value, this.#reads++));
        onRead();
        if (chunk) return chunk;
        if (this.#reads % readsInARow === 0) await scope.sleep(0);
      }
    }
    for (const mode of ["new", "doubt", "derived"] as const)
      if (this.#gathered[mode].size > 0) return this.#take(mode);
    for (const [job, clients] of this.#resumed) return this.#takeJob(job, clients);
    return undefined;
  }

  /** Ends an iterator that was not read to its end, without waiting: it may be stalled. */
  release(): void {
    if (!this.isOver) (async () => this.#iterator.return?.())().catch(() => {});
  }

  #place(client: ReturnType<typeof checkClient>): Chunk | undefined {
    const { state, sizeMax } = this.#options;
    const { externalId } = client;
    const known = state.client(externalId);
    if (known.isSeen) {
      state.repeated.push(externalId);
      return undefined;
    }
    known.isSeen = true;
    if (known.status !== "open") return undefined;
    if ("error" in client) {
      state.fail(externalId, client.error);
      return undefined;
    }
    const { job } = known;
    if (job) {
      // Also those that are attached: the job may have to be abandoned.
      const clients = this.#resumed.get(job)?.set(externalId, client);
      return clients?.size === job.clients.length ? this.#takeJob(job, clients) : undefined;
    }
    const gathered = this.#gathered[known.mode];
    gathered.set(externalId, client);
    return gathered.size >= sizeMax() ? this.#take(known.mode) : undefined;
  }

  #take(mode: WorkMode): Chunk {
    const clients = new Map(this.#gathered[mode]);
    this.#gathered[mode].clear();
    return { clients, mode };
  }

  #takeJob(job: ImportJob, clients: Clients): Chunk {
    this.#resumed.delete(job);
    return { clients, mode: job.mode, job };
  }
}
