import { fromHex } from "@workspace-tasks/kernel/bytes.ts";

/** Named streams of one seed. Each purpose has its own stream, so that one more draw for a fault does not change ids. */
export interface RandomStreams {
  readonly seed: number;
  number(stream: string): number;
  /** The number of a name, between 0 and 1: always the same, whatever else has been drawn. */
  numberOf(name: string): number;
  /** The bytes of a name, at most 32. */
  bytesOf(name: string, length: number): Uint8Array;
  bytes(stream: string, length: number): Uint8Array;
  /**
   * A UUID version 7: the time, a counter, then seeded bits. Ids of one stream sort in the order in which they were
   * drawn, also within one millisecond.
   */
  uuid(stream: string, nowMs: number): string;
  /** The UUID of a name, of version 8 (defined by the application): always the same, also with another seed. */
  uuidOf(name: string): string;
  /** How far each stream has been drawn; `restore` continues from there. */
  position(): Readonly<Record<string, number>>;
  restore(position: Readonly<Record<string, number>>): void;
}

export function createRandomStreams(seed: number, { sha256 }: Hashing): RandomStreams {
  const counters = new Map<string, number>();

  // A block is the hash of (seed, stream, counter), 32 bytes in hex: a position is one number.
  const block = (stream: string) => {
    const counter = counters.get(stream) ?? 0;
    counters.set(stream, counter + 1);
    return sha256(`${seed}/${stream}/${counter}`);
  };

  const bytes = (stream: string, length: number) => {
    const blocks: string[] = [];
    for (let filled = 0; filled < length; filled += 32) blocks.push(block(stream));
    return fromHex(blocks.join("")).subarray(0, length);
  };

  return {
    seed,
    bytes,
    number: (stream) => toNumber(block(stream)),
    numberOf: (name) => toNumber(sha256(`${seed}/${name}`)),
    bytesOf: (name, length) => fromHex(sha256(`${seed}/${name}`)).subarray(0, length),
    uuid(stream, nowMs) {
      const counter = counters.get(stream) ?? 0;
      return uuidV7(nowMs, counter, block(stream));
    },
    uuidOf: (name) => uuidFromHash(sha256(name)),
    position: () => Object.fromEntries(counters),
    restore(position) {
      counters.clear();
      for (const [stream, counter] of Object.entries(position)) counters.set(stream, counter);
    },
  };
}

const toNumber = (block: string) => Number.parseInt(block.slice(0, 12), 16) / 2 ** 48;

// RFC 9562 §6.2, method 1: a counter of 26 bits precedes the random bits, 12 in `rand_a` and 14 at the start of
// `rand_b`, around the version and variant bits.
function uuidV7(nowMs: number, counter: number, random: string): string {
  const timeMs = Math.max(0, Math.floor(nowMs));
  // In two parts: a number above 31 bits takes ten times as long.
  const time = `${toHex(Math.floor(timeMs / 0x10000), 8)}-${toHex(timeMs % 0x10000, 4)}`;
  const head = (0x7000 | ((counter >> 14) & 0x0fff)).toString(16);
  const tail = (0x8000 | (counter & 0x3fff)).toString(16);
  return `${time}-${head}-${tail}-${random.slice(20, 32)}`;
}

function uuidFromHash(hex: string): string {
  const variant = (0x8000 | (Number.parseInt(hex.slice(16, 20), 16) & 0x3fff)).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}-${hex.slice(20, 32)}`;
}

const toHex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");

/** The hashes that ids, keys and tokens are made of. Of the platform: a browser's own are only asynchronous. */
export interface Hashing {
  /** SHA-256 of a text in UTF-8, in hexadecimal. */
  sha256(text: string): string;
  /** HMAC-SHA-256 of a text in UTF-8. */
  hmacSha256(key: Uint8Array, text: string): Uint8Array;
}
