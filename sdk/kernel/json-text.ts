/**
 * The value of a JSON file that a person has written; a byte order mark, which some editors add, is left out.
 * @throws SyntaxError that begins with the line, such as `line 3: Unexpected token …`
 */
export function parseJsonText(text: string): unknown {
  const json = text.replace(/^\ufeff/, "");
  try {
    return JSON.parse(json);
  } catch (error) {
    const { message } = error as SyntaxError;
    throw new SyntaxError(`line ${lineOfError(json)}: ${message}`, { cause: error });
  }
}

/** The parser's messages have no line, and not all have a position: the first line with which the text is wrong. */
function lineOfError(json: string): number {
  const lines = json.split("\n");
  let [right, wrong] = [0, lines.length];
  while (wrong - right > 1) {
    const middle = Math.floor((right + wrong) / 2);
    if (isWrong(`${lines.slice(0, middle).join("\n")}\n`)) wrong = middle;
    else right = middle;
  }
  return wrong;
}

/** Wrong before its end, so that no more text makes it right. */
function isWrong(json: string): boolean {
  try {
    JSON.parse(json);
    return false;
  } catch (error) {
    const { message } = error as SyntaxError;
    const position = /at position (\d+)/.exec(message)?.[1];
    return !message.startsWith("Unexpected end") && Number(position ?? -1) < json.length;
  }
}
