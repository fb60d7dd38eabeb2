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
