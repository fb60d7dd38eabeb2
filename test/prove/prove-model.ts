// The part of `npm run prove` that checks the model, and replays its transitions on the inboxes.

import { PostgresServer } from "../support/postgres.ts";
import { findPostgres } from "../support/postgres-binaries.ts";
import { findSpin } from "../support/spin.ts";
import { checkModel } from "../system/model/check-model.ts";
import { type ModelMutant, modelMutants } from "../system/model/model-mutants.ts";
import { modelChecks, violatedBy } from "../system/model/models.ts";
import { replayAll, replayedBounds } from "../system/model/replay-checks.ts";
import {
  loadReplayedParts,
  memoryStore,
  postgresStore,
  type ReplayedStore,
  sqliteStore,
} from "../system/model/replayed-stores.ts";
import type { Proof } from "./proof.ts";

const replayMs = 60_000;

/** Why the model cannot be checked here. */
export function modelMissing(): string | undefined {
  const tools = findSpin();
  return "missing" in tools ? tools.missing : undefined;
}

/** The steps to the violation; undefined for a mutant that is not refuted. */
async function refute(mutant: ModelMutant): Promise<string | undefined> {
  const checked = await checkModel({ ...mutant, isShortest: mutant.property !== "liveness" });
  const violated = violatedBy(checked);
  if (violated === undefined || !mutant.violates.includes(violated)) return undefined;
  const steps = checked.story.slice(0, stepsMax).map((step, index) => `${index + 1}. ${step}`);
  return [...steps, ...(checked.story.length > stepsMax ? ["…"] : []), `→ ${violated}`].join("\n");
}

const stepsMax = 20;

/** Checks, refutes and replays while there is time. */
export async function proveModel(
  proof: Proof,
  leftMs: () => number,
  done: (text: string) => void,
): Promise<void> {
  for (const { name, ...check } of modelChecks) {
    if (leftMs() <= 0) return;
    const checked = await checkModel(check);
    const { states, transitions, depth, elapsedMs } = checked;
    const violation = violatedBy(checked) ?? null;
    proof.models[name] = { states, transitions, depth, elapsedMs, violation };
    done(`model of ${name}: ${states} states, ${transitions} transitions, ${violation ?? "no violation"}`);
  }
  for (const mutant of modelMutants) {
    const { name, bug } = mutant;
    if (leftMs() <= 0) return;
    const counterexample = (await refute(mutant)) ?? null;
    proof.modelBugs[name] = counterexample;
    done(`${counterexample === null ? "NOT REFUTED" : "refuted"}: ${name} (${bug})`);
  }
  if (leftMs() <= 0) return;
  using parts = await loadReplayedParts();
  await replayOn("memory", memoryStore(parts.module), proof, leftMs, done);
  await using sqlite = await sqliteStore(parts.module);
  await replayOn("sqlite", sqlite, proof, leftMs, done);
  if ("missing" in findPostgres()) return done("nothing was replayed on PostgreSQL: it is not installed");
  await using server = await PostgresServer.start();
  await using database = await server.database();
  await using postgres = await postgresStore(parts.module, database.pool());
  await replayOn("postgres", postgres, proof, leftMs, done);
}

async function replayOn(
  kind: string,
  store: ReplayedStore,
  proof: Proof,
  leftMs: () => number,
  done: (text: string) => void,
): Promise<void> {
  for (const bounds of replayedBounds) {
    const texts = Object.entries(bounds).map(([bound, value]) => `${bound.toLowerCase()} ${value}`);
    const name = `${kind}, ${texts.join(", ")}`;
    if (leftMs() <= 0) return;
    const { difference, ...replayed } = await replayAll(store, bounds, {
      budgetMs: Math.min(replayMs, leftMs()),
    });
    proof.replays[name] = { ...replayed, difference: difference ?? null };
    const { covered, transitions, calls } = replayed;
    done(
      `${name}: ${covered} of ${transitions} transitions in ${calls} calls, ${difference ?? "no difference"}`,
    );
  }
}
