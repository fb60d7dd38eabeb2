/** The hashes that ids, keys and tokens are made of. Of the platform: a browser's own are only asynchronous. */
export interface Hashing {
  /** SHA-256 of a text in UTF-8, in hexadecimal. */
  sha256(text: string): string;
  /** HMAC-SHA-256 of a text in UTF-8. */
  hmacSha256(key: Uint8Array, text: string): Uint8Array;
}
