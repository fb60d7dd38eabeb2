import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { MockServerError } from "../errors.ts";
import { nextTurn, realClock } from "../time/real-clock.ts";
import type { NumberedActivity, World } from "../world/world.ts";

/** How many items must match: at least `count`, or exactly `times`. */
interface ExpectedNumber {
  readonly count?: number | undefined;
  readonly times?: number | undefined;
}

interface Expectation<Item> {
  /** What messages call an item, such as `request`. */
  readonly noun: string;
  /** The items that exist now, oldest first. */
  items(): Iterable<Item>;
  /** The items that may match, where an index knows. Default: all. */
  candidates?(): Iterable<Item>;
  /** The item that an activity is about. */
  itemOf(activity: NumberedActivity): Item | undefined;
  /** Why an item does not match, a sentence for each difference; empty when it does. */
  differences(item: Item): readonly string[];
  describe(item: Item): string;
}

/**
 * Resolves with the matching items once there are enough of them.
 * @throws MockServerError WAIT_TIMED_OUT after the time limit, at once when there are more than `times`; the message
 *   lists the nearest items and why they differ
 */
export async function waitForMatches<Item>(
  world: World,
  expectation: Expectation<Item>,
  { count = 1, times }: ExpectedNumber,
  limits: WaitLimits,
): Promise<readonly Item[]> {
  const find = () => {
    const candidates = expectation.candidates?.() ?? expectation.items();
    return [...candidates].filter((item) => expectation.differences(item).length === 0);
  };
  // All are read once at the start; then those that something has happened to, and all again when they may be enough.
  let matching = new Set<Item>(find());
  const poll = (activities: readonly NumberedActivity[]) => {
    for (const activity of activities) {
      const item = expectation.itemOf(activity);
      if (item === undefined) continue;
      if (expectation.differences(item).length === 0) matching.add(item);
      else matching.delete(item);
    }
    if (matching.size < (times ?? count)) return undefined;
    // Some may no longer be kept.
    if (activities.length > 0) matching = new Set(find());
    return matching.size < (times ?? count) ? undefined : [...matching];
  };
  const result = await waitFor(world, poll, limits);
  if (result && (times === undefined || result.length === times)) return result;
  const found = result ?? find();
  const expected = times === undefined ? `at least ${count}` : `exactly ${times}`;
  const wait = result ? "" : ` within timeoutMs (${limits.timeoutMs})`;
  const summary = `expected ${expected} matching ${plural(expectation.noun, times ?? count)}, got ${found.length}${wait}`;
  const details = result ? found.map(expectation.describe) : nearest(expectation);
  throw new MockServerError("WAIT_TIMED_OUT", [summary, ...details.slice(0, shownMax)].join("\n  "));
}

const plural = (noun: string, number: number) =>
  number === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;

const shownMax = 5;
const differencesShownMax = 4;

/** The items that do not match, the nearest and newest first, with their differences. */
function nearest<Item>({ noun, items, differences, describe }: Expectation<Item>): readonly string[] {
  const all = [...items()].toReversed();
  if (all.length === 0) return [`there is no ${noun} at all`];
  const others = all.map((item) => ({ item, why: differences(item) })).filter(({ why }) => why.length > 0);
  others.sort((a, b) => a.why.length - b.why.length);
  return others.map(({ item, why }) => {
    const more = why.length > differencesShownMax ? `; and ${why.length - differencesShownMax} more` : "";
    return `${describe(item)}: ${why.slice(0, differencesShownMax).join("; ")}${more}`;
  });
}

interface WaitLimits {
  readonly timeoutMs: number;
  /** Measures the time limit. Default: the computer's clock, because a virtual one may not advance. */
  readonly wallClock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls `poll` now and after activity of the world, at most once per turn of the event loop, with the activities since the
 * call before. Resolves with its first result that is not `undefined`, or with `undefined` at the time limit and on abort. Rejects with the reason of
 * the end of the world.
 */
export function waitFor<Result>(
  world: World,
  poll: (activities: readonly NumberedActivity[]) => Result | undefined,
  { timeoutMs, wallClock = realClock, signal }: WaitLimits,
): Promise<Result | undefined> {
  if (world.ended) return Promise.reject(world.signal.reason);
  const first = poll([]);
  if (first !== undefined || signal?.aborted) return Promise.resolve(first);
  return new Promise((resolve, reject) => {
    let activities: NumberedActivity[] = [];
    const end = (settle: () => void) => {
      unsubscribe();
      cancelTimeout();
      signal?.removeEventListener("abort", giveUp);
      world.signal.removeEventListener("abort", endWithWorld);
      settle();
    };
    const giveUp = () => end(() => resolve(undefined));
    const fail = (reason: unknown) => end(() => reject(reason));
    const endWithWorld = () => fail(world.signal.reason);
    const pollAgain = () => {
      const polled = activities;
      activities = [];
      const result = poll(polled);
      if (result !== undefined) end(() => resolve(result));
    };
    const unsubscribe = world.subscribe((activity) => {
      activities.push(activity);
      if (activities.length > 1) return;
      nextTurn().then(pollAgain).catch(fail);
    });
    const cancelTimeout = wallClock.schedule(timeoutMs, giveUp);
    signal?.addEventListener("abort", giveUp, { once: true });
    world.signal.addEventListener("abort", endWithWorld, { once: true });
  });
}
