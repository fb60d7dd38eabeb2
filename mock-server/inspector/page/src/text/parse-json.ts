/** @throws Error that begins with `what`, such as "the variables are", for a text that is not JSON */
export function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} not JSON: ${error instanceof Error ? error.message : error}`);
  }
}
