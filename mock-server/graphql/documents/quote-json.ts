// Characters that JSON escapes, and surrogates, which it escapes when they are alone.
const special = /["\\\p{Cc}\ud800-\udfff]/u;

/** The text as JSON; as `JSON.stringify`, which takes several times as long for text without special characters. */
export const quoteJson = (text: string): string => (special.test(text) ? JSON.stringify(text) : `"${text}"`);
