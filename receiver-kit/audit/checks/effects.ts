import type { ProbeResult } from "../target/connection.ts";
import type { Delivery } from "../target/signing.ts";
import type { Target } from "../target/target.ts";
import { type Finding, failed, passed, passedIf } from "./check.ts";
import { isAcknowledged, summaryOf } from "./probe-check.ts";

export async function sendInOrder(
  target: Target,
  deliveries: readonly Delivery[],
): Promise<readonly ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const delivery of deliveries) results.push(await target.send(delivery));
  return results;
}

/** Sends, expects only 2xx, and, with an observer, that each id of `deliveries` took effect once. */
export async function acknowledgedWithEffects(
  target: Target,
  deliveries: readonly Delivery[],
  send: () => Promise<readonly ProbeResult[]> = () => sendInOrder(target, deliveries),
): Promise<Finding> {
  const { observer } = target;
  const ids = [...new Set(deliveries.map(({ id }) => id))];
  const totalBefore = observer && !observer.perDelivery ? await observer.count("") : 0;
  const results = await send();
  const summary = summaryOf(results);
  if (!results.every(isAcknowledged)) return failed(summary);
  if (!observer) return { ...passed(`${summary} (responses only)`), responsesOnly: true };
  const counts = observer.perDelivery
    ? await Promise.all(ids.map((id) => observer.settledCount(id, 1)))
    : [(await observer.settledCount("", totalBefore + ids.length)) - totalBefore];
  const wanted = observer.perDelivery ? 1 : ids.length;
  const plural = counts.length === 1 && counts[0] === 1 ? "" : "s";
  const isOnce = counts.every((count) => count === wanted);
  return passedIf(isOnce, `${summary}; ${counts.join(" and ")} effect${plural}`);
}
