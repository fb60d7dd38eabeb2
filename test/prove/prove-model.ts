// The part of `npm run prove` that checks the model, and replays its transitions on the inboxes.

import { findSpin } from "../support/spin.ts";
import { checkModel } from "../system/model/check-model.ts";
import { type ModelMutant, modelMutants } from "../system/model/model-mutants.ts";
import { modelChecks, violatedBy } from "../system/model/models.ts";
import { replayAll, replayedBounds } from "../system/model/replay-checks.ts";
import { loadMemoryInbox, openMemoryInbox } from "../system/model/replayed-inbox.ts";
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
  using loaded = await loadMemoryInbox();
  const open = openMemoryInbox(loaded.module);
  for (const bounds of replayedBounds) {
    if (leftMs() <= 0) return;
    const limits = Object.entries(bounds).map(([bound, value]) => `${bound.toLowerCase()} ${value}`);
    const budgetMs = Math.min(replayMs, leftMs());
    const { difference, covered, transitions } = await replayAll(open, bounds, budgetMs);
    const counts = `${covered} of ${transitions} transitions`;
    report(difference === undefined, `${limits.join(", ")}: ${counts}, ${difference ?? "no difference"}`);
  }
}

/** The steps to the violation; undefined for a mutant that is not refuted. */
async function refute(mutant: ModelMutant): Promise<string | undefined> {
  const checked = await checkModel({ ...mutant, isShortest: true });
  const violated = violatedBy(checked);
  if (violated === undefined || !mutant.violates.includes(violated)) return undefined;
  const steps = checked.story.slice(0, stepsMax).map((step, index) => `${index + 1}. ${step}`);
  return [...steps, ...(checked.story.length > stepsMax ? ["…"] : []), `→ ${violated}`].join("\n");
}
