// The part of `npm run prove` that checks the model, and replays its transitions on the inboxes.

import { PostgresServer } from "../support/postgres.ts";
import { findPostgres } from "../support/postgres-binaries.ts";
import { findSpin } from "../support/spin.ts";
import { checkModel } from "../system/model/check-model.ts";
import { type ModelMutant, modelMutants } from "../system/model/model-mutants.ts";
import { modelChecks, violatedBy } from "../system/model/models.ts";
import { replayAll, replayedBounds } from "../system/model/replay-checks.ts";
import * as stores from "../system/model/replayed-stores.ts";
import { indented, type Proof } from "./proof.ts";

const replayMs = 60_000;
const stepsMax = 20;

/** Checks, refutes and replays while there is time. */
export async function proveModel(proof: Proof): Promise<void> {
  const { leftMs, report } = proof;
  const tools = findSpin();
  if ("missing" in tools) return report(true, `the model is not checked: ${tools.missing}`);
  for (const { name, ...check } of modelChecks) {
    if (leftMs() <= 0) return;
    const checked = await checkModel(check);
    const violation = violatedBy(checked);
    const { states, transitions } = checked;
    const text = `${states} states, ${transitions} transitions, ${violation ?? "no violation"}`;
    report(violation === undefined, `model of ${name}: ${text}`);
  }
  for (const mutant of modelMutants) {
    if (leftMs() <= 0) return;
    const story = await refute(mutant);
    const { name, bug } = mutant;
    report(
      story !== undefined,
      `${story ? "refuted" : "NOT REFUTED"}: ${name} (${bug})\n${indented(story ?? "")}`,
    );
  }
  if (leftMs() <= 0) return;
  using parts = await stores.loadReplayedParts();
  await replayOn("memory", stores.memoryStore(parts.module), proof);
  await using sqlite = await stores.sqliteStore(parts.module);
  await replayOn("sqlite", sqlite, proof);
  if ("missing" in findPostgres())
    return report(true, "nothing is replayed on PostgreSQL: it is not installed");
  await using server = await PostgresServer.start();
  await using database = await server.database();
  await using postgres = await stores.postgresStore(parts.module, database.pool());
  await replayOn("postgres", postgres, proof);
}

/** The steps to the violation; undefined for a mutant that is not refuted. */
async function refute(mutant: ModelMutant): Promise<string | undefined> {
  const checked = await checkModel({ ...mutant, isShortest: true });
  const violated = violatedBy(checked);
  if (violated === undefined || !mutant.violates.includes(violated)) return undefined;
  const steps = checked.story.slice(0, stepsMax).map((step, index) => `${index + 1}. ${step}`);
  return [...steps, ...(checked.story.length > stepsMax ? ["…"] : []), `→ ${violated}`].join("\n");
}

async function replayOn(kind: string, store: stores.ReplayedStore, { leftMs, report }: Proof): Promise<void> {
  for (const bounds of replayedBounds) {
    if (leftMs() <= 0) return;
    const limits = Object.entries(bounds).map(([bound, value]) => `${bound.toLowerCase()} ${value}`);
    const { difference, covered, transitions, calls } = await replayAll(store, bounds, {
      budgetMs: Math.min(replayMs, leftMs()),
    });
    const counts = `${covered} of ${transitions} transitions in ${calls} calls`;
    report(
      difference === undefined,
      `${kind}, ${limits.join(", ")}: ${counts}, ${difference ?? "no difference"}`,
    );
  }
}
