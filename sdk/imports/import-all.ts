import * as s from "@workspace-tasks/kernel/schema.ts";
import { checkInput } from "../validation.ts";
import { settleKnown } from "./documents.ts";
import {
  type CheckedClient,
  type CheckedOptions,
  checkClient,
  type ImportParts,
  inputError,
  method,
} from "./import-input.ts";
import { type Chunk, importChunk } from "./import-job.ts";
import { createRun, type ImportRun } from "./import-run.ts";
import type { ImportJob, WorkMode } from "./import-state.ts";

// An iterable that never waits would leave no time for anything else.
const readsInARow = 1_000;

export function startImport(options: CheckedOptions, parts: ImportParts) {
  const run = createRun(options, parts);
  return run.run(() => importAll(run));
}

/** Imports every client of the input, and continues every job of the journal. */
async function importAll(run: ImportRun): Promise<void> {
  await run.open();
  // In a job of a process that has ended. Without one, nothing of a client can take effect, and the input need not have it.
  const begun = [...run.state.jobs.values()].flatMap((job) => run.state.openIn(job));
  await run.forEach(readChunks(run), run.jobsAtOnce, async (chunk) => {
    await importChunk(run, chunk);
    void run.report();
  });
  const missing = inputError("the journal has begun it, and the input does not have it; call again with it");
  for (const externalId of begun) {
    const { isSeen, isImported } = run.state.client(externalId);
    if (isSeen || isImported) continue;
    run.state.see(externalId);
    run.settle(externalId, "failed", missing);
  }
}

/** Gathers clients: those of a job of an earlier process together, the others as they come. */
async function* readChunks(run: ImportRun): AsyncGenerator<Chunk, void> {
  const { options, state } = run;
  const gathered = new Map<ImportJob | WorkMode, Map<string, CheckedClient>>();
  for (const { isImported, job } of state.clients.values())
    if (job && !isImported) gathered.set(job, new Map());
  const take = (key: ImportJob | WorkMode): Chunk => {
    const clients = gathered.get(key) ?? new Map();
    gathered.delete(key);
    return typeof key === "string" ? { clients, mode: key } : { clients, mode: key.mode, job: key };
  };
  const sizes = { new: options.worksPerJob, derived: options.worksPerJob, alone: 1 };
  for await (const client of openClients(run)) {
    const { job, mode } = state.client(client.externalId);
    const clients = gathered.get(job ?? mode) ?? new Map<string, CheckedClient>();
    gathered.set(job ?? mode, clients.set(client.externalId, client));
    if (clients.size === (job?.clients.length ?? sizes[mode])) yield take(job ?? mode);
  }
  for (const key of [...gathered.keys()]) yield take(key);
}

const iteratorPlace = `${method}: clients: its iterator`;
const iteratorWithNext = s.objectWith<AsyncIterator<unknown> | Iterator<unknown>>("one with next", "next");
const iteratorStep = s.refine<object>(
  "an object with done and value from next",
  (step) => Object(step) === step,
);

/** The clients of the input that have something to send, each once. */
async function* openClients(run: ImportRun): AsyncGenerator<CheckedClient, void> {
  const { state, scope } = run;
  const { clients } = run.options;
  const opened =
    Symbol.asyncIterator in clients ? clients[Symbol.asyncIterator]() : clients[Symbol.iterator]();
  const iterator = checkInput(iteratorPlace, iteratorWithNext, opened);
  // An iterator may throw, or return no promise.
  const next = async () => {
    const step = await scope.race((async () => iterator.next())());
    return checkInput(iteratorPlace, iteratorStep, step) as typeof step;
  };
  let read = 0;
  let isOver = false;
  try {
    for (let step = await next(); step.done !== true; step = await next()) {
      const client = checkClient(step.value, read++);
      void run.report();
      const { externalId } = client;
      if (state.see(externalId)) {
        if ("error" in client) run.settle(externalId, "failed", client.error);
        else if (!state.client(externalId).isImported || (await settleKnown(run, client, "unchanged")))
          yield client;
      }
      if (read % readsInARow === 0) await scope.sleep(0);
    }
    isOver = true;
  } finally {
    // Without waiting: it may be stalled.
    if (!isOver) (async () => iterator.return?.())().catch(() => {});
  }
}
