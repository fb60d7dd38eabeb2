// What the receiver kit uses of `node:crypto`.

import fastSha256 from "fast-sha256";

const { hash, hmac } = fastSha256;

interface Hash {
  update(part: string | Uint8Array): Hash;
  digest(encoding: BufferEncoding): string;
}

function collected(digestOf: (bytes: Uint8Array) => Uint8Array): Hash {
  const parts: Uint8Array[] = [];
  const result: Hash = {
    update(part) {
      parts.push(typeof part === "string" ? Buffer.from(part) : part);
      return result;
    },
    digest: (encoding) => Buffer.from(digestOf(Buffer.concat(parts))).toString(encoding),
  };
  return result;
}

export const createSecretKey = (bytes: Uint8Array): Uint8Array => bytes;
export const createHash = (_algorithm: "sha256"): Hash => collected(hash);
export const createHmac = (_algorithm: "sha256", key: Uint8Array): Hash =>
  collected((bytes) => hmac(key, bytes));

export function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (const [at, byte] of one.entries()) difference |= byte ^ (other[at] ?? 0);
  return difference === 0;
}

export const randomBytes = (size: number): Buffer =>
  Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(size)));
