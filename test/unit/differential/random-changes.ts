import type { Random } from "../../integration/simulation/random.ts";

export type HeaderLines = readonly (readonly [name: string, value: string])[];

export const issuedSecret = (key: Buffer) => `whsec_${key.toString("base64")}`;

const odd = [
  ...["", " ", "  ", "\0", "\n", "\t", "\u00a0", "\uFEFF", "0", "+", "-", "=", "==", ".0", ".5", "e0", "x"],
  ...[",", ", ", ",junk", " junk", "junk ", "v1,", "v2", "é", "🧾", '"', "{", "'; drop table inbox; --", "١"],
];
export const oddText = (random: Random) => random.sample(odd) ?? "";

const textChanges: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => oddText(random) + text,
  (text, random) => text + oddText(random),
  (_, random) => oddText(random),
  (text, random) => spliced(text, random, oddText(random), 0),
  (text, random) => spliced(text, random, "", 1),
  // The last of 43 characters of a MAC has two unused bits.
  (text) => text.replace(/.(?==$)/, (char) => String.fromCharCode(char.charCodeAt(0) + 1)),
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
  (text) => text.slice(0, -5),
  (text) => text.replaceAll("+", "-").replaceAll("/", "_"),
  (text) => text.replace(/=+$/, ""),
  (text) => text.replace(/^whsec_/, ""),
  (text) => Buffer.from(text, "base64").toString("hex"),
];

function spliced(text: string, random: Random, inserted: string, removed: number): string {
  const at = random.integer(0, Math.max(0, text.length - 1));
  return text.slice(0, at) + inserted + text.slice(at + removed);
}

export const changeText = (text: string, random: Random): string =>
  random.sample(textChanges)?.(text, random) ?? text;

const byteChanges: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  (bytes) => bytes.subarray(1),
  (bytes, random) => bytes.subarray(0, random.integer(0, bytes.length - 1)),
  (bytes, random) => Buffer.concat([bytes, Buffer.from([random.pick([0, 10, 0xff])])]),
  (bytes) => Buffer.concat([bytes, bytes]),
  (bytes) => Buffer.from(bytes.toString()),
  (bytes) => Buffer.from(bytes.toString("latin1").replaceAll("\u00ef\u00bf\u00bd", "\u00ff"), "latin1"),
  (bytes, random) =>
    bytes.map((byte) => byte ^ (random.happens(0.02) ? 1 << random.integer(0, 7) : 0)) as Buffer,
  (_, random) => Buffer.from(Array.from({ length: random.integer(0, 24) }, () => random.integer(0, 255))),
];

export const changeBytes = (bytes: Buffer, random: Random): Buffer =>
  Buffer.from(random.sample(byteChanges)?.(bytes, random) ?? bytes);

/** Changes the name of a signed header, leaves it out or repeats it. */
export function changeLines(lines: HeaderLines, random: Random): HeaderLines {
  const name = random.pick(["webhook-id", "webhook-timestamp", "webhook-signature"]);
  const change = random.integer(0, 4);
  const renamed = random.pick([name.toUpperCase(), `x-${name}`, `${name} `]);
  return lines.flatMap((line): HeaderLines => {
    if (line[0] !== name) return [line];
    if (change === 0) return [];
    if (change === 1) return [[renamed, line[1]]];
    if (change === 2) return [line, line];
    if (change === 3) return [line, [name.toUpperCase(), line[1]]];
    return [line, [name, oddText(random)]];
  });
}
