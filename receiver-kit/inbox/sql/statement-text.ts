// Reads the text of statements in linear time: a pattern for comments that follow each other would take exponential time.

/** A statement from its first word on. The comments of PostgreSQL may contain comments, those of SQLite end at the first end. */
export function fromFirstWord(statement: string, database: Database): string {
  for (let at = 0; ; ) {
    blank.lastIndex = at;
    const [found] = blank.exec(statement) ?? [];
    if (found === undefined) return statement.slice(at);
    at = found === "/*" ? endOfComment(statement, at, database) : blank.lastIndex;
  }
}

export type Database = "postgres" | "sqlite";

const blank = /[\s;]+|--[^\n]*|\/\*/y;

function endOfComment(text: string, start: number, database: Database): number {
  const delimiters = /\/\*|\*\//g;
  delimiters.lastIndex = start + "/*".length;
  for (let depth = 1; depth > 0; ) {
    const [found] = delimiters.exec(text) ?? [];
    if (found === undefined) return text.length;
    if (found === "*/") depth -= 1;
    else if (database === "postgres") depth += 1;
  }
  return delimiters.lastIndex;
}

/** Whether a text for SQLite has more than one statement. Some of its drivers execute the first one only. */
export function hasSecondStatement(text: string): boolean {
  if (!/;\s*\S/.test(text)) return false;
  const statement = fromFirstWord(text, "sqlite");
  // Its own statements end with `;`, and it with `; END`.
  let isInTrigger = /^CREATE\s+(?:TEMP(?:ORARY)?\s+)?TRIGGER\b/i.test(statement);
  let hasEnded = false;
  let previous = "";
  for (const word of wordsOf(statement)) {
    if (word !== ";" && hasEnded) return true;
    if (previous === ";" && word.toUpperCase() === "END") isInTrigger = false;
    hasEnded ||= word === ";" && !isInTrigger;
    previous = word;
  }
  return false;
}

/** Without comments; of a text or a name in quotes the first quote. */
function* wordsOf(statement: string): Iterable<string> {
  const words = /--[^\n]*|\/\*|\w+|\S/g;
  for (let found = words.exec(statement); found; found = words.exec(statement)) {
    const [word] = found;
    const closing = closings.get(word);
    if (closing !== undefined) {
      // A quote within the text is written twice, which is a second text here.
      const end = statement.indexOf(closing, words.lastIndex);
      words.lastIndex = end < 0 ? statement.length : end + 1;
    }
    if (word === "/*") words.lastIndex = endOfComment(statement, found.index, "sqlite");
    else if (!word.startsWith("--")) yield word;
  }
}

const closings = new Map(["'", '"', "`"].map((quote) => [quote, quote]));
closings.set("[", "]");
