import { createInboxPart } from "./compare-inbox.ts";
import { createLimiterPart } from "./compare-limiter.ts";
import { createVerifierPart, packagePeers } from "./compare-verifiers.ts";
import { createPartResult, type DifferentialPart, type PartResult, runPart } from "./differential-part.ts";
import { openInboxes } from "./open-inboxes.ts";
import { loadStripe } from "./stripe-verifier.ts";

/** Continues the comparison that is furthest from its goal. False when all have reached theirs, or when one has failed. */
export async function compareNext(
  results: Record<string, PartResult>,
  budgetMs: number,
  print: (text: string) => void,
): Promise<boolean> {
  const endMs = performance.now() + budgetMs;
  await using inboxes = await openInboxes({ withPostgres: true });
  const parts: readonly DifferentialPart[] = [
    createVerifierPart([...packagePeers, await loadStripe()]),
    createLimiterPart(),
    createInboxPart(inboxes),
  ];
  const doneOf = ({ name, goal }: DifferentialPart) => (results[name]?.count ?? 0) / goal;
  if (parts.some(({ name }) => results[name]?.failure !== undefined)) return false;
  const [next] = parts.filter((part) => doneOf(part) < 1).toSorted((a, b) => doneOf(a) - doneOf(b));
  if (!next) return false;
  const result = results[next.name] ?? createPartResult();
  results[next.name] = result;
  await runPart(next, result, ({ count }) => count >= next.goal || performance.now() >= endMs);
  print(`differential, ${next.name}: ${result.count} of ${next.goal} ${next.what}`);
  if (result.failure !== undefined) print(result.failure);
  return result.failure === undefined;
}
