import { contractNames, eventNames, messageWords } from "./vocabulary.ts";

/** Words before a number that is a limit and not a fact about a client. */
const limitWords = new Set([
  "between",
  "and",
  "to",
  "than",
  "least",
  "most",
  "maximum",
  "minimum",
  "limit",
  "of",
  "version",
]);

const charsMax = 300;

/**
 * An error message without what it quotes: a word stays when it is vocabulary of messages or a name of the contract, a
 * number when it is a limit; anything else becomes `…`.
 */
export function redactMessage(message: string): string {
  const pieces = message.slice(0, charsMax).split(/([\p{L}\p{N}][\p{L}\p{N}'_@.:/+-]*)/u);
  let before = "";
  const kept = pieces.map((piece, index) => {
    if (index % 2 === 0) return piece.replace(/[^\s.,;:!?()[\]{}"'`$“”’-]/gu, "…");
    const redacted = redactToken(piece, before);
    before = piece.toLowerCase();
    return redacted;
  });
  return kept.join("").replace(/…([\s.,-]*…)+/g, "…");
}

function redactToken(token: string, before: string): string {
  // A sentence may end with the word.
  const [, word = "", end = ""] = /^(.*?)([.:'/-]*)$/su.exec(token) ?? [];
  return (isKept(word, before) ? word : "…") + end;
}

function isKept(word: string, before: string): boolean {
  if (/^\d{1,7}$/.test(word)) return limitWords.has(before);
  if (messageWords.has(word.toLowerCase()) || contractNames().has(word) || eventNames.has(word)) return true;
  const parts = word.split(/[-/']/);
  return parts.length > 1 && parts.every((part) => part === "t" || messageWords.has(part.toLowerCase()));
}

/** A code is an identifier in capitals; anything else is not kept. */
export const redactCode = (code: unknown): string | null => {
  if (code === undefined || code === null) return null;
  return typeof code === "string" && /^[A-Z][A-Z_]{1,48}$/.test(code) ? code : "…";
};
