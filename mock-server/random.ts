import { createHash } from "node:crypto";

/**
 * Named streams of one seed. Each purpose draws from its own stream, so that one more draw for a fault
 * does not change the ids that follow.
 */
export interface RandomStreams {
  readonly seed: number;
  number(stream: string): number;
  bytes(stream: string, length: number): Buffer;
  /**
   * A UUID version 7, as the router issues: the time, a counter, then seeded bits. Ids of one stream sort
   * in the order in which they were drawn, also within one millisecond.
   */
  uuid(stream: string, nowMs: number): string;
  /** How far each stream has been drawn; `restore` continues from there. */
  position(): Readonly<Record<string, number>>;
  restore(position: Readonly<Record<string, number>>): void;
}

export function createRandomStreams(seed: number): RandomStreams {
  const counters = new Map<string, number>();

  // A block is the hash of (seed, stream, counter): any position can be restored from one number.
  const block = (stream: string) => {
    const counter = counters.get(stream) ?? 0;
    counters.set(stream, counter + 1);
    return createHash("sha256").update(`${seed}/${stream}/${counter}`).digest();
  };

  const bytes = (stream: string, length: number) => {
    const blocks: Buffer[] = [];
    for (let filled = 0; filled < length; filled += 32) blocks.push(block(stream));
    return Buffer.concat(blocks).subarray(0, length);
  };

  return {
    seed,
    bytes,
    number: (stream) => block(stream).readUIntBE(0, 6) / 2 ** 48,
    uuid(stream, nowMs) {
      const counter = counters.get(stream) ?? 0;
      return uuidV7(nowMs, counter, block(stream));
    },
    position: () => Object.fromEntries(counters),
    restore(position) {
      counters.clear();
      for (const [stream, counter] of Object.entries(position)) counters.set(stream, counter);
    },
  };
}

// RFC 9562 §6.2, method 1: a counter of 26 bits stands before the random bits, 12 in `rand_a` and 14 at
// the head of `rand_b`, around the version and variant bits.
function uuidV7(nowMs: number, counter: number, random: Buffer): string {
  const bytes = Buffer.from(random.subarray(0, 16));
  bytes.writeUIntBE(Math.max(0, Math.floor(nowMs)), 0, 6);
  bytes.writeUInt16BE((counter >> 14) & 0x0fff, 6);
  bytes.writeUInt16BE(counter & 0x3fff, 8);
  return formatUuid(bytes, 7);
}

/** A UUID derived from a name (version 8: application-defined), the same name always giving the same id. */
export function uuidFromName(name: string): string {
  return formatUuid(createHash("sha256").update(name).digest().subarray(0, 16), 8);
}

function formatUuid(bytes: Buffer, version: number): string {
  bytes.writeUInt8(((bytes.readUInt8(6) & 0x0f) | (version << 4)) & 0xff, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
