import type { FaultPlan } from "@workspace-tasks/mock-server";
import { type ImportClient, type ImportCounts, isWorkspaceTasksError } from "@workspace-tasks/sdk";
import { clientsWithUrls, createImportFixture, type ImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { createRandom, type Random } from "../../simulation/random.ts";
import { type CrashingProcess, startProcess } from "./crash-process.ts";
import { changed, intrudes } from "./import-stops.ts";

const clientCount = 50;
const processesMax = 100;
// Faults end with time, so that every import has an end.
const processesWithFaults = 12;

export interface SeedReport {
  readonly problems: readonly string[];
  readonly processes: number;
  readonly counts: ImportCounts;
}

/**
 * Imports 50 clients through every kind of fault, in processes that halt anywhere. In one seed of four the journal loses up
 * to 8 entries at a halt; in one of four others start or close a job; in one of four a process that has halted continues; in
 * half of them documents change in the middle, and these clients are imported again.
 */
export async function runImportSeed(seed: number): Promise<SeedReport> {
  const random = createRandom(seed);
  const event = random.pick(["none", "lost", "intruder", "frozen"]);
  const changes = random.happens(0.5);
  await using fixture = await createImportFixture({ seed });
  const { mock } = fixture;
  let clients: readonly ImportClient[] = clientsWithUrls(clientCount, 2).map((client) => ({
    ...client,
    artifacts: client.artifacts?.slice(0, random.integer(0, 2)),
  }));
  const used = await useExternalIds(
    fixture,
    clients.filter(() => random.happens(0.08)),
  );
  const act = random.pick(["start", "close"] as const);
  const intruding =
    event === "intruder" ? intrudes(fixture, { call: random.integer(1, 200), act }) : undefined;
  const options = {
    worksPerJob: random.integer(1, 20),
    concurrency: random.integer(1, 8),
    onChanged: "import",
    clientOptions: { random: random.number },
  } as const;
  const durable = new MemoryJournal();
  const halted: CrashingProcess[] = [];
  const changesAfter = random.integer(1, 6);
  const isChanged = (_: unknown, index: number) => changes && index % 3 === 0;
  const changedIds = new Set(clients.filter(isChanged).map(({ externalId }) => externalId));
  for (let processes = 1; processes <= processesMax; processes++) {
    const hasFaults = processes <= processesWithFaults;
    await mock.control.setFaults(hasFaults ? faultPlan(random) : {});
    if (processes === changesAfter + 1)
      clients = clients.map((client, index) =>
        changedIds.has(client.externalId) ? changed(client, index) : client,
      );
    const process = startProcess(fixture, {
      ...options,
      clients,
      durable,
      serve: intruding?.fetch ?? mock.fetch,
      haltAt: random.happens(0.5) && hasFaults ? random.integer(1, 300) : Number.POSITIVE_INFINITY,
      onStep: (step) => {
        if (event === "frozen" && step === 20) halted.pop()?.continue();
      },
    });
    const result = await process.ended.catch((error: unknown) => {
      // The import has ended with an error of the service.
      if (isWorkspaceTasksError(error) && !error.code.startsWith("JOURNAL_")) return undefined;
      throw error;
    });
    if (result === "halted") halted.push(process);
    if (result === "halted" && event === "lost")
      durable.entries.splice(Math.max(0, durable.entries.length - random.integer(0, 8)));
    // The last call has the clients that have changed.
    if (result === "halted" || !result || (changes && processes <= changesAfter)) continue;
    await mock.control.setFaults({});
    const problems = await fixture.problems(result, clients, { used, changed: changedIds });
    const mayDoubt = (externalId: string) => used.has(externalId) || event === "lost" || event === "intruder";
    const doubted = [...result.clients()].filter(
      ({ status, externalId }) => status === "undecided" && !mayDoubt(externalId),
    );
    return {
      problems: [
        // An older journal cannot say which documents were attached since.
        ...problems.filter((problem) => event !== "lost" || !problem.includes("has the documents")),
        ...doubted.map(({ externalId, error }) => `${externalId} is undecided: ${error?.message}`),
      ].map((problem) => `${problem} (${event}${changes ? ", documents change" : ""})`),
      processes,
      counts: result.counts,
    };
  }
  throw new Error(`seed ${seed}: no process of ${processesMax} came to the end`);
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
