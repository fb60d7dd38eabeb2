/** Deeper text is left as it is: its indentation would be longer than the text. */
const depthMax = 100;

/**
 * JSON with one value per line, each as it was written: `JSON.parse` would round long numbers, and keep only the last
 * of two equal keys. `null` for a text that is not JSON, or nested more than 100 levels deep.
 */
export function indentJson(text: string): string | null {
  try {
    JSON.parse(text);
  } catch {
    return null; // Also for a text that is too deep for the browser's parser.
  }
  let indented = "";
  let depth = 0;
  let before = "";
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs)) {
    const isAfterOpening = before === "{" || before === "[";
    const isClosing = token === "}" || token === "]";
    if (isClosing) depth--;
    if (before === "," || isAfterOpening !== isClosing) indented += `\n${"  ".repeat(depth)}`;
    indented += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth++;
    if (depth > depthMax) return null;
    before = token;
  }
  return indented;
}

/** @throws Error that begins with `what`, such as "the variables are", for a text that is not JSON */
export function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} not JSON: ${error instanceof Error ? error.message : error}`);
  }
}
