import { createLimiterPart } from "./compare-limiter.ts";
import { createVerifierPart, packagePeers } from "./compare-verifiers.ts";
import { createPartResult, type DifferentialPart, type PartResult, runPart } from "./differential-part.ts";

/** Continues the first comparison that has not reached its goal. False when all have, or when one has failed. */
export async function compareNext(
  results: Record<string, PartResult>,
  budgetMs: number,
  print: (text: string) => void,
): Promise<boolean> {
  const endMs = performance.now() + budgetMs;
  const parts: readonly DifferentialPart[] = [createVerifierPart(packagePeers), createLimiterPart()];
  if (parts.some(({ name }) => results[name]?.failure !== undefined)) return false;
  const next = parts.find(({ name, goal }) => (results[name]?.count ?? 0) < goal);
  if (!next) return false;
  const result = results[next.name] ?? createPartResult();
  results[next.name] = result;
  await runPart(next, result, ({ count }) => count >= next.goal || performance.now() >= endMs);
  print(`differential, ${next.name}: ${result.count} of ${next.goal} ${next.what}`);
  if (result.failure !== undefined) print(result.failure);
  return result.failure === undefined;
}
