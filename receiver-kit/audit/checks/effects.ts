import type { Answer } from "../target/connection.ts";
import type { Target } from "../target/target.ts";
import { type Finding, failed, passed } from "./check.ts";
import { isAcknowledged, summaryOf } from "./probe-check.ts";

/**
 * Sends, expects every answer to be 2xx, and, where the receiver lets itself be observed, that the
 * deliveries of `ids` took effect once each.
 */
export async function acknowledgedWithEffects(
  target: Target,
  ids: readonly string[],
  send: () => Promise<readonly Answer[]>,
): Promise<Finding> {
  const { observer } = target;
  const totalBefore = observer && !observer.perDelivery ? await observer.count("") : 0;
  const answers = await send();
  const summary = summaryOf(answers);
  if (!answers.every(isAcknowledged)) return failed(summary);
  if (!observer) return { ...passed(`${summary} (answers only)`), answersOnly: true };
  const counts = observer.perDelivery
    ? await Promise.all(ids.map((id) => observer.settledCount(id, 1)))
    : [(await observer.settledCount("", totalBefore + ids.length)) - totalBefore];
  const wanted = observer.perDelivery ? 1 : ids.length;
  const seen = `${summary}; ${counts.join(" and ")} effect${counts.length === 1 && counts[0] === 1 ? "" : "s"}`;
  return counts.every((count) => count === wanted) ? passed(seen) : failed(seen);
}
