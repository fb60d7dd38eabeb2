import { contractNames, eventNames, messageWords, nameLike } from "./vocabulary.ts";

/** Words before a number that is a limit and not a fact about a client. */
const limitWords = new Set(["between", "than", "least", "most", "maximum", "minimum", "limit", "version"]);
/** Words before a number that are said of limits, when such a word or the other end of a range precedes them. */
const betweenWords = new Set(["and", "to", "of", "is", "or"]);

const charsMax = 300;

/**
 * An error message without what it quotes: a word stays when it is vocabulary of messages or a name of the contract, a
 * number when it is a limit; anything else becomes `…`.
 */
export function redactMessage(message: string): string {
  const pieces = message.slice(0, charsMax).split(/([\p{L}\p{N}][\p{L}\p{N}'_@.:/+-]*)/u);
  const before: string[] = [];
  const kept = pieces.map((piece, index) => {
    if (index % 2 === 0) return piece.replace(/[^\s.,;:!?()[\]{}"'`$“”’-]/gu, "…").replace(/\s+/g, " ");
    const redacted = redactToken(piece, before);
    before.unshift(piece.toLowerCase());
    return redacted;
  });
  return kept.join("").replace(/…([\s.,-]*…)+/g, "…");
}

function redactToken(token: string, before: readonly string[]): string {
  // A sentence may end with the word.
  const [, word = "", end = ""] = /^(.*?)([.:'/-]*)$/su.exec(token) ?? [];
  return (isKept(word, before) ? word : "…") + end;
}

/** @param before the words before it, the nearest first */
function isKept(word: string, before: readonly string[]): boolean {
  const [nearest = "", second = "", third = ""] = before;
  if (/^\d{1,7}$/.test(word))
    return (
      limitWords.has(nearest) ||
      (betweenWords.has(nearest) && [second, third].some((each) => limitWords.has(each)))
    );
  // In the midst of a sentence a capital letter may begin a name.
  if (before.length > 0 && /^[A-Z]/.test(word) && nameLike.has(word.toLowerCase())) return false;
  if (messageWords.has(word.toLowerCase()) || contractNames().has(word) || eventNames.has(word)) return true;
  const parts = word.split(/[-/']/);
  return parts.length > 1 && parts.every((part) => part === "t" || messageWords.has(part.toLowerCase()));
}

/** A code is an identifier in capitals; parts of it that are no vocabulary of messages become `…`. */
export const redactCode = (code: unknown): string | null => {
  if (code === undefined || code === null) return null;
  if (typeof code !== "string" || !/^[A-Z][A-Z_]{1,48}$/.test(code)) return "…";
  const parts = code.split("_").map((part) => (messageWords.has(part.toLowerCase()) ? part : "…"));
  return parts.join("_").replace(/…(_…)+/g, "…");
};
