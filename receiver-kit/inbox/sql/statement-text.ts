// Reads the text of statements in linear time: a pattern for comments that follow each other would take exponential time.

import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";

/** Handlers send the same statements again and again; one may write values into them, so that each is another text. */
const rememberedMax = 100;
const rememberedLengthMax = 10_000;

/** `read`, once for each of the texts that were used last. */
export function remembering<Value>(read: (text: string) => Value): (text: string) => Value {
  const known = createBoundedCache<string, Value>(rememberedMax);
  // Callers may pass anything.
  return (text) => (text?.length > rememberedLengthMax ? read(text) : getOrCreate(known, text, read));
}

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
  const parts = text
    .replace(quotedOrComment, " ")
    .split(";")
    .filter((part) => part.trim() !== "");
  // Its own statements end with `;`, and it with `; END`.
  const isTrigger = /^\s*CREATE\s+(?:TEMP(?:ORARY)?\s+)?TRIGGER\b/i.test(parts[0] ?? "");
  const last = isTrigger ? parts.findIndex((part) => /^\s*END\b/i.test(part)) : 0;
  return last >= 0 && parts.length > last + 1;
}

/** A quote within a quoted text is written twice, which is a second text here. What does not end, ends with the text. */
const quotedOrComment =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)/g;
