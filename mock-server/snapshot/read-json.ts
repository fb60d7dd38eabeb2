// Reads one JSON document in pieces. Only what `isWalked` names is taken apart; everything else is a value that
// `JSON.parse` reads, so memory has the values and never the text of the document.

export type JsonPath = readonly string[];

export interface JsonReaderOptions {
  /** Objects and arrays that are read member by member. */
  isWalked(path: JsonPath): boolean;
  /** Replaces a member of an array that is walked. */
  item(path: JsonPath, index: number, value: unknown): unknown;
}

/** @throws SyntaxError for anything but one complete document in UTF-8; RangeError for one that is nested too deeply */
export async function readJson(
  source: AsyncIterable<Uint8Array | string>,
  options: JsonReaderOptions,
): Promise<unknown> {
  const text = createText(source);
  const value = await readValue(text, options, []);
  if ((await text.next()) !== "") throw new SyntaxError("text after the end of the document");
  return value;
}

async function readValue(text: Text, options: JsonReaderOptions, path: JsonPath): Promise<unknown> {
  const first = await text.next();
  if (!options.isWalked(path) || (first !== "{" && first !== "[")) return JSON.parse(await text.value());
  return first === "{" ? readObject(text, options, path) : readArray(text, options, path);
}

async function readObject(text: Text, options: JsonReaderOptions, path: JsonPath): Promise<object> {
  const members: [string, unknown][] = [];
  await text.expect("{");
  while ((await text.next()) !== "}") {
    if (members.length > 0) await text.expect(",");
    if ((await text.next()) !== '"') throw new SyntaxError("expected a name");
    const name = JSON.parse(await text.value()) as string;
    await text.expect(":");
    members.push([name, await readValue(text, options, [...path, name])]);
  }
  await text.expect("}");
  return Object.fromEntries(members);
}

async function readArray(text: Text, options: JsonReaderOptions, path: JsonPath): Promise<unknown[]> {
  const items: unknown[] = [];
  await text.expect("[");
  while ((text.peek() || (await text.next())) !== "]") {
    if (items.length > 0) await text.expect(",");
    const value = JSON.parse(text.wholeValue() ?? (await text.value()));
    items.push(options.item(path, items.length, value));
  }
  await text.expect("]");
  return items;
}

type Text = ReturnType<typeof createText>;

const isSpace = (char: string) => char === " " || char === "\n" || char === "\r" || char === "\t";

/** The text that has arrived and is not consumed. */
function createText(source: AsyncIterable<Uint8Array | string>) {
  const chunks = source[Symbol.asyncIterator]();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let at = 0;

  /** `false` at the end of the source. */
  const more = async (): Promise<boolean> => {
    const { done, value } = await chunks.next();
    const added = typeof value === "string" ? value : decoder.decode(value, { stream: !done });
    text = text.slice(at) + added;
    at = 0;
    return !done;
  };

  const skipSpace = () => {
    while (at < text.length && isSpace(text[at] as string)) at++;
  };

  /** The next character that is not white space, without consuming it; empty at the end. */
  const next = async (): Promise<string> => {
    for (;;) {
      skipSpace();
      if (at < text.length) return text[at] as string;
      if (!(await more())) return "";
    }
  };

  const take = (end: number): string => {
    const value = text.slice(at, end);
    at = end;
    return value;
  };

  return {
    next,
    /** As `next`, of what has arrived. */
    peek() {
      skipSpace();
      return text[at] ?? "";
    },
    async expect(char: string) {
      if ((await next()) !== char) throw new SyntaxError(`expected ${char}`);
      at++;
    },
    /** The next value, if all of it has arrived. */
    wholeValue(): string | null {
      skipSpace();
      const end = createScan().continue(text, at, false);
      return end === null ? null : take(end);
    },
    /** The text of the next value. Its parts are joined once: joined at each chunk, large uploads take minutes. */
    async value(): Promise<string> {
      await next();
      const scan = createScan();
      const parts: string[] = [];
      for (;;) {
        const end = scan.continue(text, at, false);
        if (end !== null) return parts.concat(take(end)).join("");
        parts.push(take(text.length));
        if (await more()) continue;
        if (scan.continue(text, at, true) === null) throw new SyntaxError("the document is truncated");
        return parts.concat(take(text.length)).join("");
      }
    },
  };
}

/** More than a snapshot has around JSON that the API accepts, and less than recursive functions can take. */
const depthMax = 500;

const quote = 34;
const backslash = 92;

/** Finds the end of a value, also when it arrives in parts. */
function createScan() {
  let depth = 0;
  let inText = false;
  let isEscaped = false;

  const skipText = (text: string, from: number): number => {
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (isEscaped) isEscaped = false;
      else if (code === backslash) isEscaped = true;
      else if (code === quote) {
        inText = false;
        return at + 1;
      }
    }
    return text.length;
  };

  return {
    /** The end of the value, or `null` when more is needed; `isLast`: no more will arrive. */
    continue(text: string, from: number, isLast: boolean): number | null {
      let at = from;
      while (at < text.length) {
        if (inText) {
          at = skipText(text, at);
          if (!inText && depth === 0) return at;
          continue;
        }
        const char = text[at] as string;
        if (char === '"') inText = true;
        else if (char === "{" || char === "[") {
          if (++depth > depthMax) throw new RangeError(`a value is nested more than ${depthMax} levels deep`);
        } else if (char === "}" || char === "]") {
          // The end of what a number, or a word, is a member of.
          if (depth === 0) return at;
          depth--;
          if (depth === 0) return at + 1;
        } else if (depth === 0 && (char === "," || isSpace(char))) return at;
        at++;
      }
      return isLast && depth === 0 && !inText ? at : null;
    },
  };
}
