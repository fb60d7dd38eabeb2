const quote = 0x22;
const backslash = 0x5c;

/** Whether a JSON text nests deeper than `depthMax`. Checked before parsing: later steps recurse into the value. */
export function isNestedDeeper(json: string, depthMax: number): boolean {
  // Each level takes at least two characters.
  if (json.length < 2 * depthMax) return false;
  let depth = 0;
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === quote) index = endOfString(json, index);
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > depthMax) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

/** Index of the quotation mark that ends the string starting at `start`. */
function endOfString(json: string, start: number): number {
  let index = start + 1;
  for (
    let code = json.charCodeAt(index);
    index < json.length && code !== quote;
    code = json.charCodeAt(index)
  ) {
    index += code === backslash ? 2 : 1;
  }
  return index;
}

/**
 * The value of a JSON document.
 * @throws RangeError for one that nests deeper, SyntaxError or TypeError for anything but JSON in UTF-8
 */
export function parseJson(bytes: Uint8Array, depthMax: number): unknown {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  if (isNestedDeeper(text, depthMax)) throw new RangeError(`nested more than ${depthMax} levels deep`);
  return JSON.parse(text);
}

/** What a text says as JSON; `undefined` for anything but JSON, and for what is nested deeper than the parser goes. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
  let right = 0;
  let wrong = lines.length;
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
