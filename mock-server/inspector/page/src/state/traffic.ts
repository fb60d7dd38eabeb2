import type { ControlApi } from "../../../../control/control-api.ts";
import type { RecordedRequest } from "../api-types.ts";

// How many requests the mock has recorded in each second of its own time. What is known stays: only newer requests are
// read.

export interface Traffic {
  /** Of the newest request that was read. */
  readonly sequence: number;
  /** Number of requests by second since 1970, of the minute before the newest one. */
  readonly bySecond: ReadonlyMap<number, number>;
}

export const noTraffic: Traffic = { sequence: 0, bySecond: new Map() };

const secondsShown = 60;
const pageRows = 1_000;

/** Adds what the mock has recorded since. */
export async function readTraffic(
  known: Traffic,
  { listRequests }: Pick<ControlApi, "listRequests">,
): Promise<Traffic> {
  const query = { order: "desc", limit: pageRows, after: known.sequence } as const;
  let page = await listRequests(query);
  const [newest] = page.data;
  if (!newest) return known;
  const added = [...page.data];
  while (page.iterator !== null && isWithinMinute(added.at(-1) ?? newest, newest)) {
    page = await listRequests({ ...query, iterator: page.iterator });
    added.push(...page.data);
  }
  return { sequence: newest.sequence, bySecond: count(added, known.bySecond, secondOf(newest)) };
}

const secondOf = ({ at }: RecordedRequest): number => Math.floor(Date.parse(at) / 1_000);

const isWithinMinute = (request: RecordedRequest, newest: RecordedRequest): boolean =>
  secondOf(request) > secondOf(newest) - secondsShown;

function count(
  added: readonly RecordedRequest[],
  known: Traffic["bySecond"],
  newestSecond: number,
): Traffic["bySecond"] {
  const bySecond = new Map(known);
  for (const request of added) {
    const second = secondOf(request);
    bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
  }
  for (const second of bySecond.keys()) {
    const ageSeconds = newestSecond - second;
    // A real clock can be set back.
    if (ageSeconds >= secondsShown || ageSeconds < 0) bySecond.delete(second);
  }
  return bySecond;
}

/**
 * Requests of each second of the last minute, oldest first; the last one is in progress.
 *
 * @param nowMs the mock's time, which may have been read before the newest request
 */
export function lastMinute({ bySecond }: Traffic, nowMs: number): readonly number[] {
  const nowSecond = Math.max(Math.floor(nowMs / 1_000), ...bySecond.keys());
  const first = nowSecond - secondsShown + 1;
  return Array.from({ length: secondsShown }, (_, index) => bySecond.get(first + index) ?? 0);
}
