// What a page knows of its server: a stream of events, or a poll, says what has changed, by topic; what is on the screen is
// then read again, at a rate that page and server can bear.

/** One activity of the stream; its type is `topic.verb`. */
export interface Activity {
  readonly type: string;
  readonly sequence: number;
  readonly at: string;
  readonly [field: string]: unknown;
}

export interface LiveState {
  /** `paused`: the tab is hidden. */
  readonly connection: "connecting" | "live" | "lost" | "paused";
  /** Newest first. */
  readonly recent: readonly Activity[];
  /** Number of changes per topic. */
  readonly changes: Readonly<Record<string, number>>;
  /**
   * Why a part of the page is missing or old, although the server is there: it rejected a read, did not respond in time,
   * or something else responded in its place. By reader, the latest last.
   */
  readonly problems: ReadonlyMap<object, string>;
}

/** As many as a list of the newest has. */
export const recentMax = 10;

export const initialLiveState: LiveState = {
  connection: "connecting",
  recent: [],
  changes: {},
  problems: new Map(),
};

/** Adds a batch of activities, oldest first. */
export function addActivities(state: LiveState, batch: readonly Activity[]): LiveState {
  if (batch.length === 0) return state;
  const changes: Record<string, number> = { ...state.changes };
  for (const { type } of batch) {
    const topic = topicOf(type);
    changes[topic] = (changes[topic] ?? 0) + 1;
  }
  // Another state of the server has another time: what was before it would look later.
  const restart = batch.findLastIndex(({ type }) => topicOf(type) === "stream");
  const shown = batch
    .slice(restart + 1)
    .slice(-recentMax)
    .reverse();
  const recent = [...shown, ...(restart < 0 ? state.recent : [])].slice(0, recentMax);
  return { ...state, changes, recent };
}

/**
 * After a lost or paused connection the server may be another one, or may have dropped what was missed without
 * knowing this reader: everything counts as changed.
 */
export function setConnection(state: LiveState, connection: LiveState["connection"]): LiveState {
  if (state.connection === connection) return state;
  const changes =
    (state.connection === "lost" || state.connection === "paused") && connection === "live"
      ? { ...state.changes, stream: (state.changes["stream"] ?? 0) + 1 }
      : state.changes;
  return { ...state, connection, changes };
}

/** A number that changes with each of the topics, and when everything must be read again. */
export function versionOf(state: LiveState, topics: readonly string[]): number {
  return ["stream", ...topics].reduce((sum, topic) => sum + (state.changes[topic] ?? 0), 0);
}

/** @param problem `null`: the last read succeeded, or its reader left the page */
export function setReadProblem(state: LiveState, reader: object, problem: string | null): LiveState {
  if (problem === (state.problems.get(reader) ?? null)) return state;
  const problems = new Map(state.problems);
  if (problem === null) problems.delete(reader);
  else problems.set(reader, problem);
  return { ...state, problems };
}

/** The latest problem that still exists. */
export const readProblemOf = ({ problems }: LiveState): string | undefined => [...problems.values()].at(-1);

function topicOf(type: string): string {
  return type.slice(0, type.indexOf(".")) || type;
}
