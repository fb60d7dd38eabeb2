// Texts of others that a person reads in a log or a terminal, which obey some characters instead of showing them.

/** The text as one line: what controls a terminal, breaks a line, hides text or changes its direction is an escape. */
export const visible = (text: string): string =>
  text.replace(/[\t\n\r]/g, shortEscape).replace(obeyed, codeEscape);

/** The text like `visible`, but line feeds and tabs stay as they are. */
export const visibleLines = (text: string): string => text.replace(obeyed, codeEscape);

/**
 * What a program writes to a terminal or a file: as `visibleLines`, except its own colours, and the start of a line that overwrites
 * itself. JSON has the same meaning afterwards.
 */
export const visibleOutput = (text: string): string =>
  text.replace(ownOrObeyed, (found: string, kept?: string) => kept ?? codeEscape(found));

// Control characters, halves of surrogate pairs, line and paragraph separators, directions, and what has no width except the
// joiners of words and emoji.
const obeyed =
  /(?![\t\n])[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const own = "\\u001b\\[(?:(?:0|1|2|3[1-6]|90)m|K)|\\r(?=\\u001b\\[K)";
const ownOrObeyed = new RegExp(`(${own})|${obeyed.source}`, "gu");

const shortEscape = (character: string): string => JSON.stringify(character).slice(1, -1);

/** One for each half of a pair, as in JSON. */
const codeEscape = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
    .join("");
