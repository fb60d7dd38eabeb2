// What `Buffer` does where there is none, as in a browser.

// When first used: jsdom in Jest has neither, and an application's component may only be imported there.
let encoder: InstanceType<typeof TextEncoder> | undefined;
let decoder: InstanceType<typeof TextDecoder> | undefined;
/** A multiple of three, so that no padding is inside, and less than a call can have arguments. */
const encodedAtOnce = 30_000;

/** The bytes of a text in UTF-8. */
export const utf8 = (text: string): Uint8Array<ArrayBuffer> => {
  encoder ??= new TextEncoder();
  return encoder.encode(text);
};

/** The text of bytes in UTF-8; what is none becomes U+FFFD. */
export const textOfUtf8 = (bytes: Uint8Array): string => {
  decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
  return decoder.decode(bytes);
};

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

const partsFree = 512;
const bytesPerPartMin = 16;

/**
 * True for more parts of a body than a sender makes without the intent to cost its reader time: a part of one byte takes about
 * as much as one of a thousand.
 */
export const isFragmented = (parts: number, bytes: number): boolean =>
  parts > partsFree + bytes / bytesPerPartMin;

/**
 * Bytes that arrive in parts, in at most about twice as much memory as there are bytes. A list of the parts would take hundreds
 * of times as much where a sender makes each of one byte.
 */
export class ByteBuffer {
  #bytes = new Uint8Array();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(part: Uint8Array): void {
    const length = this.#length + part.byteLength;
    // Most bodies are one part, which needs no copy unless it keeps a larger buffer in memory.
    if (this.#length === 0 && part.buffer.byteLength <= 2 * length)
      this.#bytes = part as Uint8Array<ArrayBuffer>;
    else {
      if (length > this.#bytes.byteLength) {
        const grown = new Uint8Array(this.#length === 0 ? length : 2 * length);
        grown.set(this.#bytes.subarray(0, this.#length));
        this.#bytes = grown;
      }
      this.#bytes.set(part, this.#length);
    }
    this.#length = length;
  }

  /** All bytes so far, in memory of just their number. */
  toBytes(): Uint8Array {
    return this.#length === this.#bytes.byteLength ? this.#bytes : this.#bytes.slice(0, this.#length);
  }
}

/** Reads a body that arrives in parts; `null` past `bytesMax`. */
export async function readBytes(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array | null> {
  const body = new ByteBuffer();
  for await (const part of parts ?? []) {
    if (body.length + part.byteLength > bytesMax) return null;
    body.append(part);
  }
  return body.toBytes();
}

/** Base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += encodedAtOnce)
    text += btoa(Reflect.apply(String.fromCharCode, null, bytes.subarray(start, start + encodedAtOnce)));
  return text;
}

/** Base64 for URLs, without padding. */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

/** The bytes of base64 or base64url, with padding or without; `undefined` for a text that is neither. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    return undefined;
  }
}

/** The bytes of an even number of hexadecimal digits. */
export function fromHex(digits: string): Uint8Array {
  const bytes = new Uint8Array(digits.length / 2);
  for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}
