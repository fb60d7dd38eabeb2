// Texts of others that a person reads in a log or a terminal, which obey some characters instead of showing them.

/** As one line: what controls a terminal, breaks a line, hides text or changes its direction is shown as an escape. */
export const visible = (text: string): string =>
  text.replace(/[\t\n\r]/g, shortEscape).replace(obeyed, codeEscape);

/** As `visible`, with line feeds and tabs as they are. */
export const visibleLines = (text: string): string => text.replace(obeyed, codeEscape);

// Control characters, halves of surrogate pairs, line and paragraph separators, directions, and what has no width except the
// joiners of words and emoji.
const obeyed =
  /(?![\t\n])[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const shortEscape = (character: string): string => JSON.stringify(character).slice(1, -1);

function codeEscape(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
}
