import { fromFirstWord } from "./statement-text.ts";

/** The words that an SQL statement begins with, at most five: what it does, and to which table, but no value. */
export function firstWords(statement: string): string {
  const words: string[] = [];
  for (const word of fromFirstWord(statement, "postgres").slice(0, charactersMax).split(/\s+/)) {
    // Literals, parameters and quoted names, which may be literals in SQLite, are not words.
    if (!/^(?:[a-z_][\w.]*|\*)$/i.test(word)) break;
    words.push(word);
    if (words.length === wordsMax || (words.length > 1 && beforeValues.test(word))) break;
  }
  return words.join(" ");
}

const beforeValues = /^(?:values|set|where|to|select|as|is)$/i;
const wordsMax = 5;
const charactersMax = 60;
