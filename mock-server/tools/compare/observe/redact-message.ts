/*
 * The message of an error is free text, so it is reduced by its form. What stays:
 *
 *   names of the contract and of events   `WebhookEndpoint`, `task.failed`, in quotes as well
 *   words in lower case                   prose: a name has a capital letter, an id or address has other characters
 *   the first word of a sentence          when it is a word of the contract or begins many messages; else it may be a name
 *   numbers that are said to be limits    `between 1 and 100`
 *
 * Anything else becomes `…`.
 */

import { contractNames, contractWords, eventNames } from "./contract-words.ts";

const charsMax = 300;

const limit =
  /\b(?:between|least|most|than|limit|maximum|minimum|version)(?: of| is)? \d{1,7}(?: (?:and|to) \d{1,7})?(?![\w.@/-])/;
const quoted = /"[^"]*"|(?<!\p{L})'[^']*'|`[^`]*`|“[^”]*”/u;
const token = /[\p{L}\p{N}][\p{L}\p{N}'_@.:/+-]*/u;
const pieces = new RegExp(`(${limit.source})|(${quoted.source})|(${token.source})`, "gu");

const openers = new Set(
  "a access at cannot expected forbidden internal invalid missing no not only the this too unauthorized unexpected unknown unsupported you".split(
    " ",
  ),
);
const acronyms = new Set(["API", "HTTP", "HTTPS", "URL"]);

/** An error message without what may be data of a client, in 300 characters at most. */
export function redactMessage(message: string): string {
  let kept = "";
  let end = 0;
  let isStart = true;
  const text = message.slice(0, charsMax);
  for (const { 0: piece, 1: limit, 2: quote, index } of text.matchAll(pieces)) {
    const between = redactMarks(text.slice(end, index));
    kept += between + (limit ?? (quote ? redactQuoted(piece) : redactWord(piece, isStart)));
    end = index + piece.length;
    isStart = /[.:]$/.test(piece);
  }
  return (kept + redactMarks(text.slice(end))).replace(/…([\s.,-]*…)+/g, "…");
}

const redactMarks = (marks: string) =>
  marks.replace(/[^\s.,;:!?()[\]{}"'`$“”’-]/gu, "…").replace(/\s+/g, " ");

const isName = (text: string) => contractNames().has(text) || eventNames.has(text);

function redactQuoted(piece: string): string {
  const name = piece.slice(1, -1).replace(/^\$/, "");
  return isName(name) || name.split(".").every(isName) ? piece : `${piece[0]}…${piece.at(-1)}`;
}

function redactWord(piece: string, isStart: boolean): string {
  // A sentence may end with the word.
  const [, word = "", end = ""] = /^(.*?)([.:'/-]*)$/su.exec(piece) ?? [];
  const lower = word.toLowerCase();
  const isOpener =
    isStart && /^[A-Z][a-z]+$/.test(word) && (openers.has(lower) || contractWords().has(lower));
  const isKept = isName(word) || acronyms.has(word) || /^[a-z]+('[a-z]+)?$/.test(word) || isOpener;
  return (isKept ? word : "…") + end;
}

/** A code is an identifier in capitals. */
export const redactCode = (code: unknown): string | null => {
  if (code === undefined || code === null) return null;
  return typeof code === "string" && /^[A-Z][A-Z_]{1,48}$/.test(code) ? code : "…";
};
