import { type Chunk, importChunk } from "./import-chunk.ts";
import { type CheckedClient, type CheckedOptions, checkClient, inputError } from "./import-input.ts";
import type { ImportParts } from "./import-parts.ts";
import { createRun, type ImportRun } from "./import-run.ts";
import type { ImportJob, WorkMode } from "./import-state.ts";

// An iterable that never waits would leave no time for anything else.
const readsInARow = 1_000;

export function startImport(options: CheckedOptions, parts: ImportParts) {
  const run = createRun(options, parts);
  return { progress: run.progress, result: run.run(() => importAll(run)) };
}

/** Imports every client of the input, and continues every job of the journal. */
async function importAll(run: ImportRun): Promise<void> {
  await run.open();
  const input = readChunks(run);
  const parts: Chunk[] = [];
  try {
    await run.together(run.jobsAtOnce, async () => {
      for (;;) {
        const chunk = parts.shift() ?? (await input.next()).value;
        if (!chunk) return;
        parts.unshift(...(await importChunk(run, chunk)));
      }
    });
  } finally {
    await input.return();
  }
  // Nothing that the journal knows is forgotten.
  const missing = "the journal has begun this client, and the input does not have it; call again with it";
  for (const [externalId, { isSeen }] of run.state.clients)
    if (!isSeen) run.state.fail(externalId, inputError(missing));
}

/** Gathers clients: those of a job of an earlier process together, new ones as they come. */
async function* readChunks(run: ImportRun): AsyncGenerator<Chunk, void> {
  const { options, state } = run;
  const gathered = new Map<ImportJob | WorkMode, Map<string, CheckedClient>>();
  for (const { status, job } of state.clients.values())
    if (job && status === "open") gathered.set(job, new Map());
  const take = (key: ImportJob | WorkMode): Chunk => {
    const clients = gathered.get(key) ?? new Map();
    gathered.delete(key);
    return typeof key === "string" ? { clients, mode: key } : { clients, mode: key.mode, job: key };
  };
  for await (const client of openClients(run)) {
    const { job, mode } = state.client(client.externalId);
    const clients = gathered.get(job ?? mode) ?? new Map<string, CheckedClient>();
    gathered.set(job ?? mode, clients.set(client.externalId, client));
    if (clients.size === (job?.clients.length ?? options.worksPerJob)) yield take(job ?? mode);
  }
  for (const key of [...gathered.keys()]) yield take(key);
}

/** The clients of the input that are not settled, each once. */
async function* openClients(run: ImportRun): AsyncGenerator<CheckedClient, void> {
  const { state, scope, input } = run;
  const { clients } = run.options;
  const iterator =
    Symbol.asyncIterator in clients ? clients[Symbol.asyncIterator]() : clients[Symbol.iterator]();
  // An iterator may throw, or return no promise.
  const next = () => scope.race((async () => iterator.next())());
  try {
    for (let step = await next(); step.done !== true; step = await next()) {
      const client = checkClient(step.value, input.read++);
      run.change();
      const known = state.client(client.externalId);
      if (known.isSeen) state.repeated.push(client.externalId);
      else if ("error" in client) state.fail(client.externalId, client.error);
      else if (known.status === "open") yield client;
      known.isSeen = true;
      if (input.read % readsInARow === 0) await scope.sleep(0);
    }
    input.isOver = true;
  } finally {
    // Without waiting: it may be stalled.
    if (!input.isOver) (async () => iterator.return?.())().catch(() => {});
  }
}
