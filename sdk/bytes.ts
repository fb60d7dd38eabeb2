// What `Buffer` does where there is none, as in a browser.

const encoder = new TextEncoder();

/** The bytes of a text in UTF-8. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** The parts one after the other; a single part as it is. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.byteLength, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.byteLength;
  }
  return joined;
}

export const toBase64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
