/** Levels of a snapshot above its records: `state`, then a list. */
export const snapshotDepth = 3;
/** Text that is yielded at a time. */
const chunkChars = 65_536;

/**
 * The JSON of a value in pieces: no text is as long as the whole. Objects down to `depth` levels are walked, and their
 * arrays item by item; each item is written at once.
 */
export function* jsonChunks(value: object, depth: number): Generator<string, void, undefined> {
  let text = "";
  for (const piece of pieces(value, depth)) {
    text += piece;
    if (text.length < chunkChars) continue;
    yield text;
    text = "";
  }
  yield text;
}

function* pieces(value: unknown, depth: number): Generator<string, void, undefined> {
  if (depth === 0 || typeof value !== "object" || value === null) {
    yield JSON.stringify(value);
    return;
  }
  const isArray = Array.isArray(value);
  const entries = isArray
    ? value.entries()
    : Object.entries(value).filter(([, field]) => field !== undefined);
  let separator = "";
  yield isArray ? "[" : "{";
  for (const [name, item] of entries) {
    yield isArray ? separator : `${separator}${JSON.stringify(name)}:`;
    if (isArray) yield JSON.stringify(item);
    else yield* pieces(item, depth - 1);
    separator = ",";
  }
  yield isArray ? "]" : "}";
}
