import type { ControlApi } from "../../../../control/control-api.ts";

// How many requests the mock has recorded in each second of its own time. What is known stays: only newer requests are
// read.

export interface Traffic {
  /** Of the newest request that was read. */
  readonly sequence: number;
  /** The second since 1970 of each request in the minute before the newest one, which is first. */
  readonly seconds: readonly number[];
}

export const noTraffic: Traffic = { sequence: 0, seconds: [] };

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
  const newestSecond = secondOf(newest);
  const added = page.data.map(secondOf);
  while (page.iterator !== null && (added.at(-1) ?? 0) > newestSecond - secondsShown) {
    page = await listRequests({ ...query, iterator: page.iterator });
    added.push(...page.data.map(secondOf));
  }
  // A real clock can be set back.
  const isShown = (second: number) => second > newestSecond - secondsShown && second <= newestSecond;
  return { sequence: newest.sequence, seconds: [...added, ...known.seconds].filter(isShown) };
}

const secondOf = ({ at }: { readonly at: string }): number => Math.floor(Date.parse(at) / 1_000);

/**
 * Requests of each second of the last minute, oldest first; the last one is in progress.
 *
 * @param nowMs the mock's time, which may have been read before the newest request
 */
export function lastMinute({ seconds }: Traffic, nowMs: number): readonly number[] {
  const nowSecond = Math.max(Math.floor(nowMs / 1_000), seconds[0] ?? 0);
  const counts = new Array<number>(secondsShown).fill(0);
  for (const second of seconds) {
    const index = second - nowSecond + secondsShown - 1;
    if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}
