import type { FaultPlan } from "@workspace-tasks/mock-server";
import { type ImportClient, type ImportResult, isWorkspaceTasksError } from "@workspace-tasks/sdk";
import { clientsWithUrls, createImportFixture, type ImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { createRandom, type Random } from "../../simulation/random.ts";
import { crashingProcess } from "./crash-process.ts";

const clientCount = 50;
const processesMax = 100;
// Faults end with time, so that every import has an end.
const processesWithFaults = 12;

export interface SeedReport {
  readonly problems: readonly string[];
  readonly processes: number;
  readonly counts: ImportResult["counts"];
}

/** Imports 50 clients through every kind of fault, in processes that stop anywhere. */
export async function runImportSeed(seed: number): Promise<SeedReport> {
  const random = createRandom(seed);
  await using fixture = await createImportFixture({ seed });
  const { mock } = fixture;
  const clients = clientsWithUrls(clientCount, 2).map((client) => ({
    ...client,
    artifacts: client.artifacts?.slice(0, random.integer(0, 2)),
  }));
  const used = await useExternalIds(
    fixture,
    clients.filter(() => random.happens(0.08)),
  );
  const options = { clients, worksPerJob: random.integer(1, 20), concurrency: random.integer(1, 8) };
  const journal = new MemoryJournal();
  for (let processes = 1; processes <= processesMax; processes++) {
    await mock.control.setFaults(processes <= processesWithFaults ? faultPlan(random) : {});
    const stopAt =
      random.happens(0.5) && processes <= processesWithFaults
        ? random.integer(1, 300)
        : Number.POSITIVE_INFINITY;
    const result = await runProcess(fixture, random, journal, { ...options, stopAt });
    if (!result) continue;
    await mock.control.setFaults({});
    const doubted = [...result.clients()].filter(
      ({ status, externalId }) => status === "undecided" && !used.has(externalId),
    );
    const problems = await fixture.problems(result, clients, used);
    return {
      problems: [
        ...problems,
        ...doubted.map(({ externalId }) => `${externalId} is undecided, and nothing else has used it`),
      ],
      processes,
      counts: result.counts,
    };
  }
  throw new Error(`seed ${seed}: no process of ${processesMax} came to the end`);
}

interface ProcessOptions {
  readonly clients: readonly ImportClient[];
  readonly worksPerJob: number;
  readonly concurrency: number;
  readonly stopAt: number;
}

/** `undefined` when the process has stopped, or the import has ended with an error of the service. */
async function runProcess(
  fixture: ImportFixture,
  random: Random,
  durable: MemoryJournal,
  { stopAt, ...options }: ProcessOptions,
): Promise<ImportResult | undefined> {
  const { mock, connectionId, jobName } = fixture;
  const process = crashingProcess(mock.fetch, durable, stopAt);
  const client = fixture.createClient({
    fetch: process.fetch,
    clock: { ...mock.clock },
    random: random.number,
  });
  const started = client.partner.imports.start({
    ...options,
    connectionId,
    jobName,
    journal: process.journal,
  });
  const settled = started.catch((error: unknown) => {
    if (isWorkspaceTasksError(error) && !error.code.startsWith("JOURNAL_")) return undefined;
    throw error;
  });
  const ended = await mock.clock.runUntil(Promise.race([settled, process.stopped]));
  if (ended === "stopped") settled.catch(() => {});
  return ended === "stopped" ? undefined : ended;
}

/** What something else has imported before. */
async function useExternalIds(
  { createClient, connectionId, mock }: ImportFixture,
  clients: readonly ImportClient[],
) {
  if (clients.length === 0) return new Set<string>();
  const { jobs } = createClient().partner;
  const job = await jobs.create({ connectionId, jobName: "Before" });
  await jobs.addWorks(
    job.id,
    clients.map(({ externalId }) => ({ externalId, name: `before ${externalId}` })),
  );
  await jobs.startImport(job.id);
  await mock.clock.advance("1m");
  return new Set(clients.map(({ externalId }) => externalId));
}

function faultPlan(random: Random): FaultPlan {
  const rate = random.pick([0, 0.005, 0.02, 0.05]);
  const kinds = [
    { kind: "reset-before-effect" },
    { kind: "reset-after-effect" },
    { kind: "status", status: 503 },
    { kind: "html" },
    { kind: "truncate" },
    { kind: "stall" },
    { kind: "delay", delayMs: random.integer(100, 60_000) },
    { kind: "rate-limited" },
    { kind: "burn-quota" },
    { kind: "expire-token" },
    { kind: "graphql-error", message: "internal", code: "INTERNAL_SERVER_ERROR" },
  ] as const;
  return { api: [{ chances: kinds.map((fault) => ({ probability: rate, fault })) }] };
}
