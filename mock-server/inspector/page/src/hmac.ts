// HMAC-SHA256 (RFC 2104, FIPS 180-4). The browser's own is absent over plain http from another host, where a page must
// explain signatures too.

const blockBytes = 64;
const initial = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];
const constants = fractionsOfPrimeRoots(64);

/** The first 32 bits of the fractional parts of the cube roots of the first primes. */
function fractionsOfPrimeRoots(count: number): Uint32Array {
  const found: number[] = [];
  const primes: number[] = [];
  for (let candidate = 2; found.length < count; candidate++) {
    if (primes.some((prime) => candidate % prime === 0)) continue;
    primes.push(candidate);
    found.push(Math.floor((Math.cbrt(candidate) % 1) * 2 ** 32));
  }
  return Uint32Array.from(found);
}

export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  const block = new Uint8Array(blockBytes);
  block.set(key.length > blockBytes ? sha256(key) : key);
  const inner = sha256(
    concat(
      block.map((byte) => byte ^ 0x36),
      message,
    ),
  );
  return sha256(
    concat(
      block.map((byte) => byte ^ 0x5c),
      inner,
    ),
  );
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

export function sha256(message: Uint8Array): Uint8Array {
  const state = Uint32Array.from(initial);
  const padded = pad(message);
  const view = new DataView(padded.buffer);
  for (let offset = 0; offset < padded.length; offset += blockBytes) addBlock(state, view, offset);
  const digest = new DataView(new ArrayBuffer(32));
  for (const [index, word] of state.entries()) digest.setUint32(4 * index, word);
  return new Uint8Array(digest.buffer);
}

function pad(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / blockBytes) * blockBytes);
  padded.set(message);
  padded[message.length] = 0x80;
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(message.length) * 8n);
  return padded;
}

const rotate = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));

function addBlock(state: Uint32Array, view: DataView, offset: number): void {
  const words = new Uint32Array(64);
  for (let index = 0; index < 16; index++) words[index] = view.getUint32(offset + 4 * index);
  const word = (index: number) => words[index] as number;
  for (let index = 16; index < 64; index++) {
    const [early, late] = [word(index - 15), word(index - 2)];
    const sum0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const sum1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    words[index] = word(index - 16) + sum0 + word(index - 7) + sum1;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  for (let index = 0; index < 64; index++) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + sum1 + ((e & f) ^ (~e & g)) + (constants[index] as number) + word(index)) | 0;
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const second = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) {
    state[index] = (state[index] as number) + value;
  }
}
