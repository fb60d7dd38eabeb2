// What the page knows of the mock while it runs. Every happening of the event stream says which noun has
// changed; what is on the screen is then read anew, never more often than the page and the mock can bear.

/** One happening of the stream: its type is `noun.verb`. */
export type Happening = {
  readonly type: string;
  readonly sequence: number;
  readonly at: string;
  readonly [field: string]: unknown;
};

export type LiveState = {
  readonly connection: "connecting" | "live" | "lost";
  /** Newest first. */
  readonly recent: readonly Happening[];
  /** Happenings in each of the last seconds of the reader's time, oldest first. */
  readonly perSecond: readonly number[];
  /** How often each noun has changed. */
  readonly changes: Readonly<Record<string, number>>;
};

export const recentMax = 200;
export const secondsMax = 60;

export const initialLiveState: LiveState = {
  connection: "connecting",
  recent: [],
  perSecond: Array.from({ length: secondsMax }, () => 0),
  changes: {},
};

/** Takes in a batch of happenings; `restarted` stands for a reset or a gap, after which everything is read anew. */
export function takeHappenings(state: LiveState, batch: readonly Happening[]): LiveState {
  if (batch.length === 0) return state;
  const changes: Record<string, number> = { ...state.changes };
  for (const { type } of batch) {
    const noun = type.slice(0, type.indexOf(".")) || type;
    changes[noun] = (changes[noun] ?? 0) + 1;
  }
  const perSecond = [...state.perSecond];
  perSecond[perSecond.length - 1] = (perSecond.at(-1) ?? 0) + batch.length;
  const recent = [...batch.slice(-recentMax).reverse(), ...state.recent].slice(0, recentMax);
  return { ...state, changes, perSecond, recent };
}

export function tickSecond(state: LiveState): LiveState {
  return { ...state, perSecond: [...state.perSecond.slice(1), 0] };
}

/** A number that changes whenever one of the nouns does. */
export function versionOf(state: LiveState, nouns: readonly string[]): number {
  return [...nouns, "stream"].reduce((sum, noun) => sum + (state.changes[noun] ?? 0), 0);
}
