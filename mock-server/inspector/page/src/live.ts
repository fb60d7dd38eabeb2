// What the page knows of the mock while it runs. Every happening of the event stream says which noun has
// changed; what is on the screen is then read anew, never more often than the page and the mock can bear.

/** One happening of the stream: its type is `noun.verb`. */
export type Happening = {
  readonly type: string;
  readonly sequence: number;
  readonly at: string;
  readonly [field: string]: unknown;
};

/** What came in within one second of the reader's time. */
export type Second = { readonly happenings: number; readonly requests: number };

export type LiveState = {
  readonly connection: "connecting" | "live" | "lost";
  /** Newest first. */
  readonly recent: readonly Happening[];
  /** The last seconds of the reader's time, oldest first; the last one is still going on. */
  readonly seconds: readonly Second[];
  /** How often each noun has changed. */
  readonly changes: Readonly<Record<string, number>>;
};

export const recentMax = 200;
export const secondsMax = 60;

const emptySecond: Second = { happenings: 0, requests: 0 };

export const initialLiveState: LiveState = {
  connection: "connecting",
  recent: [],
  seconds: Array.from({ length: secondsMax }, () => emptySecond),
  changes: {},
};

/** Takes in a batch of happenings, oldest first. */
export function takeHappenings(state: LiveState, batch: readonly Happening[]): LiveState {
  if (batch.length === 0) return state;
  const changes: Record<string, number> = { ...state.changes };
  let requests = 0;
  for (const { type } of batch) {
    const noun = nounOf(type);
    changes[noun] = (changes[noun] ?? 0) + 1;
    if (noun === "request") requests++;
  }
  const current = state.seconds.at(-1) ?? emptySecond;
  const seconds = [
    ...state.seconds.slice(0, -1),
    { happenings: current.happenings + batch.length, requests: current.requests + requests },
  ];
  const shown = batch.filter(({ type }) => nounOf(type) !== "stream");
  const recent = [...shown.slice(-recentMax).reverse(), ...state.recent].slice(0, recentMax);
  return { ...state, changes, seconds, recent };
}

export function tickSecond(state: LiveState): LiveState {
  return { ...state, seconds: [...state.seconds.slice(1), emptySecond] };
}

/**
 * The stream is open (again). After a cut the mock may be another one, or have forgotten what was missed,
 * without knowing that this reader ever saw more: everything counts as changed.
 */
export function takeConnection(state: LiveState, connection: LiveState["connection"]): LiveState {
  if (state.connection === connection) return state;
  const changes =
    state.connection === "lost" && connection === "live"
      ? { ...state.changes, stream: (state.changes["stream"] ?? 0) + 1 }
      : state.changes;
  return { ...state, connection, changes };
}

/** A number that changes whenever one of the nouns does, or when everything has to be read anew. */
export function versionOf(state: LiveState, nouns: readonly string[]): number {
  return [...nouns, "stream"].reduce((sum, noun) => sum + (state.changes[noun] ?? 0), 0);
}

function nounOf(type: string): string {
  return type.slice(0, type.indexOf(".")) || type;
}
