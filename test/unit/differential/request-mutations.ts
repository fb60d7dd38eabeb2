import type { Random } from "../../integration/simulation/random.ts";
import { secretA, secretB } from "../../support/signed-delivery.ts";
import { type Draft, type Entry, type HeaderLines, type Mutation, nowSeconds } from "./draft.ts";

const ids = [
  ...["a", "msg.1", `msg.${nowSeconds}`, "a.123456789", "a~b:c/d=e@f", "a".repeat(255), "a".repeat(256), ""],
  ...["Größe", "税", "🧾", "a\0b", "\0", "a\n", " a", "a ", "a b", 'a{"b', "a,b", "'; drop table inbox; --"],
] as const;

const timestampForms: readonly ((seconds: string) => string)[] = [
  ...["", "0", "1", "999999999999", "9999999999999", "9".repeat(20), "NaN", "Infinity", "١٧٧٢٣٥٧٤٠٠"].map(
    (text) => () => text,
  ),
  ...["2026-03-01T09:30:00Z", "-1", "1e9", "0x69a41b58"].map((text) => () => text),
  ...["+", "-", " ", "\t", "\u00a0", "0", "00", "\0"].map((before) => (seconds: string) => before + seconds),
  ...[" ", "x", ".0", ".5", ".999", "e0", "000", ",", "\0", "\n", " 0"].map(
    (after) => (seconds: string) => seconds + after,
  ),
];

const ages = [0, 1, 299, 300, 301, 302, 599, 3_600, 31_536_000] as const;

const bodies = [
  ...["", "[]", "not JSON", "\0", "\uFEFF{}", '{"a":"\uFFFD"}', `${nowSeconds}.{}`, `x.${nowSeconds}.{}`].map(
    (text) => Buffer.from(text),
  ),
  ...["ff", "c080", "eda080", "efbfbd", "e282", "7b2261223a22ff227d"].map((hex) => Buffer.from(hex, "hex")),
];

/** Ways to change a body after it was signed. */
const bodyChanges: readonly ((body: Buffer, random: Random) => Buffer)[] = [
  (body) => body.subarray(0, -1),
  (body) => body.subarray(1),
  (body, random) => body.subarray(0, random.integer(0, body.length)),
  (body) => Buffer.concat([body, Buffer.from("\n")]),
  (body) => Buffer.concat([Buffer.from("\uFEFF"), body]),
  (body) => Buffer.concat([body, Buffer.alloc(1)]),
  (body) => Buffer.from(body.toString()),
  (body) => Buffer.from(body.toString("latin1").replaceAll("\u00ef\u00bf\u00bd", "\u00ff"), "latin1"),
  (body) => Buffer.from(body.toString("latin1").toUpperCase(), "latin1"),
  (body, random) => {
    const copy = Buffer.from(body);
    const at = random.integer(0, Math.max(0, copy.length - 1));
    if (copy.length > 0) copy[at] = (copy[at] ?? 0) ^ (1 << random.integer(0, 7));
    return copy;
  },
];

const key = (secret: string) => Buffer.from(secret.slice(6), "base64");
const issued = (bytes: Buffer) => `whsec_${bytes.toString("base64")}`;

/** Ways to write a secret, or another one in its place. */
const secretForms: readonly ((secret: string) => string)[] = [
  (secret) => secret.slice(6),
  (secret) => secret.replace(/=+$/, ""),
  (secret) => `${secret}=`,
  (secret) => `${secret}\n`,
  (secret) => ` ${secret}`,
  (secret) => secret.toUpperCase(),
  (secret) => `WHSEC_${secret.slice(6)}`,
  (secret) => `whsec_${secret}`,
  (secret) => `v1,${secret}`,
  (secret) => `whsec_${key(secret).toString("hex")}`,
  (secret) => `whsec_${key(secret).toString("base64url")}`,
  (secret) => secret.slice(0, -5),
  ...[0, 1, 16, 23, 24, 31, 33, 64, 65].map((length) => () => issued(Buffer.alloc(length, 0x5d))),
  ...["", "whsec_", "whsec_AA==", "whsec_?", "secret"].map((text) => () => text),
];

const spellings: readonly ((base64: string) => string)[] = [
  (text) => text.replaceAll("+", "-").replaceAll("/", "_"),
  (text) => text.replace(/=+$/, ""),
  (text) => `${text}=`,
  (text) => `${text}==`,
  (text) => `${text},junk`,
  (text) => ` ${text}`,
  (text) => `${text}\n`,
  (text) => `${text}\0`,
  (text) => text.toLowerCase(),
  (text) => Buffer.from(text, "base64").toString("hex"),
  // The last of 43 characters has two unused bits.
  (text) => `${text.slice(0, -2)}${String.fromCharCode(text.charCodeAt(text.length - 2) + 1)}=`,
  (text) => `${text.slice(0, 20)} ${text.slice(20)}`,
  (text) => `"${text}"`,
  () => "",
];

const macChanges: readonly ((mac: Buffer) => Buffer)[] = [
  (mac) => mac.subarray(0, 16),
  (mac) => mac.subarray(0, 31),
  (mac) => Buffer.concat([mac, mac]),
  (mac) => Buffer.from(mac.map((byte, index) => (index === 31 ? byte ^ 1 : byte))),
  (mac) => Buffer.from(mac.map((byte, index) => (index === 0 ? byte ^ 128 : byte))),
  () => Buffer.alloc(32),
  () => Buffer.alloc(0),
];

const versions = ["v1a", "v2", "V1", "v1 ", "v01", "v", "", "v12345678", "v1,v1", "1"] as const;

const listForms: readonly ((entries: readonly string[]) => string)[] = [
  ...["  ", ", ", ",", "\t", "\n", ";", "\u00a0"].map(
    (joint) => (list: readonly string[]) => list.join(joint),
  ),
  (list) => ` ${list.join(" ")}`,
  (list) => `${list.join(" ")} `,
  (list) => `${list.join(" ")} junk`,
  (list) => `junk ${list.join(" ")}`,
  (list) => `${list.join(" ")}, ${list.join(" ")}`,
  (list) => `${`v2,${"A".repeat(4_100)}`} ${list.join(" ")}`,
  (list) => list.join(" ").slice(3),
  () => "",
  () => "v1",
  () => "v1,",
];

const names = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;
const isSigned = (name: string) => names.some((known) => known === name);
const renamed = (rename: (name: string) => string) => (lines: HeaderLines) =>
  lines.map(([name, value]) => [isSigned(name) ? rename(name) : name, value] as const);
const copied =
  (name: string, copy: (line: readonly [string, string]) => readonly [string, string]) =>
  (lines: HeaderLines) =>
    lines.flatMap((line) => (line[0] === name ? [line, copy(line)] : [line]));

/** Ways to write the header lines, and to leave out, repeat or add one. */
const lineChanges: readonly ((random: Random) => (lines: HeaderLines) => HeaderLines)[] = [
  () => renamed((name) => name.toUpperCase()),
  () => renamed((name) => name.replace(/(^|-)[a-z]/g, (text) => text.toUpperCase())),
  () => renamed((name) => `x-${name}`),
  () => renamed((name) => `${name} `),
  () => (lines) => lines.toReversed(),
  () => (lines) => [...lines, ["webhook-it", "x"], ["x-wwebhook-id-12345", "y"]],
  (random) => {
    const absent = random.pick(names);
    return (lines) => lines.filter(([name]) => name !== absent);
  },
  (random) => copied(random.pick(names), (line) => line),
  (random) => copied(random.pick(names), ([name, value]) => [name.toUpperCase(), value]),
  (random) => copied(random.pick(names), ([name]) => [name, "x"]),
  (random) => copied(random.pick(names), ([name]) => [name, ""]),
];

type Field = "id" | "timestamp" | "body";

/** Sends another value, which is signed, or replaces the signed one. */
function sendOther<Name extends Field>(
  draft: Draft,
  name: Name,
  value: Draft[Name],
  isSignedToo: boolean,
): Draft {
  if (isSignedToo) return { ...draft, [name]: value };
  const keep = (entry: Entry): Entry => ({ ...entry, signed: { [name]: draft[name], ...entry.signed } });
  return { ...draft, [name]: value, entries: draft.entries.map(keep) };
}

const changeEntry = (draft: Draft, random: Random, change: (entry: Entry) => Entry): Draft => {
  const at = random.integer(0, draft.entries.length - 1);
  return { ...draft, entries: draft.entries.map((entry, index) => (index === at ? change(entry) : entry)) };
};

const addEntry = (draft: Draft, random: Random, entry: Entry, times = 1): Draft => {
  const added = Array.from({ length: times }, () => entry);
  const { entries } = draft;
  return { ...draft, entries: random.happens(0.5) ? [...entries, ...added] : [...added, ...entries] };
};

const wrong: Entry = { version: "v1", secret: secretA, over: "bytes", signed: { id: "another" } };

export const mutationTable: readonly [Mutation, ...Mutation[]] = [
  {
    name: "another id",
    apply: (draft, random) => sendOther(draft, "id", random.pick(ids), random.happens(0.7)),
  },
  {
    name: "an id in which one character is any of the Basic Multilingual Plane",
    apply: (draft, random) => {
      const char = String.fromCharCode(random.integer(0, random.pick([0x7f, 0xff, 0xffff])));
      return sendOther(draft, "id", `msg_${char}`, random.happens(0.8));
    },
  },
  {
    name: "a timestamp at the edges of the tolerance",
    apply: (draft, random) => {
      const seconds = nowSeconds + random.pick([-1, 1]) * random.pick(ages);
      return sendOther(draft, "timestamp", String(seconds), random.happens(0.9));
    },
  },
  {
    name: "a timestamp in another form",
    apply: (draft, random) => {
      const write = random.sample(timestampForms) ?? String;
      const timestamp = write(draft.timestamp);
      // Lenient readers sign the number that they have read.
      const read = String(Number.parseInt(timestamp, 10));
      const entries = random.happens(0.6)
        ? draft.entries.map((entry) => ({ ...entry, signed: { ...entry.signed, timestamp: read } }))
        : draft.entries;
      return sendOther({ ...draft, entries }, "timestamp", timestamp, random.happens(0.9));
    },
  },
  {
    name: "another body",
    apply: (draft, random) =>
      sendOther(draft, "body", random.sample(bodies) ?? draft.body, random.happens(0.8)),
  },
  {
    name: "a body of random bytes",
    apply: (draft, random) => {
      const bytes = Array.from({ length: random.integer(0, 24) }, () => random.integer(0, 255));
      return sendOther(draft, "body", Buffer.from(bytes), random.happens(0.8));
    },
  },
  {
    name: "a body that is changed after it was signed",
    apply: (draft, random) => {
      const change = random.sample(bodyChanges) ?? ((body: Buffer) => body);
      return sendOther(draft, "body", change(draft.body, random), false);
    },
  },
  {
    name: "a body that is signed as the text it decodes to",
    apply: (draft) => ({
      ...draft,
      entries: draft.entries.map((entry) => ({ ...entry, over: "text" as const })),
    }),
  },
  {
    name: "a secret in another form",
    apply: (draft, random) => {
      const [first = secretA, ...others] = draft.secrets;
      const secret = (random.sample(secretForms) ?? String)(first);
      const signer = (entry: Entry) => (entry.secret === first ? { ...entry, secret } : entry);
      const entries = random.happens(0.8) ? draft.entries.map(signer) : draft.entries;
      return { ...draft, secrets: [secret, ...others], entries };
    },
  },
  {
    name: "secrets of a rotation",
    apply: (draft, random) => {
      const fresh = issued(Buffer.alloc(random.integer(24, 64), random.integer(1, 255)));
      const secrets = random.happens(0.5) ? [fresh, ...draft.secrets] : [...draft.secrets, fresh];
      const entry: Entry = { version: "v1", secret: fresh, over: "bytes", signed: {} };
      return random.happens(0.5) ? addEntry({ ...draft, secrets }, random, entry) : { ...draft, secrets };
    },
  },
  {
    name: "signed with a secret that the receiver does not have",
    apply: (draft, random) => {
      const secret = draft.secrets.includes(secretB) ? secretA : secretB;
      return changeEntry(draft, random, (entry) => ({ ...entry, secret }));
    },
  },
  {
    name: "a signature of another version",
    apply: (draft, random) => {
      const version = random.pick(versions);
      if (random.happens(0.5)) return changeEntry(draft, random, (entry) => ({ ...entry, version }));
      return addEntry(draft, random, { ...wrong, version });
    },
  },
  {
    name: "a signature in another spelling",
    apply: (draft, random) => {
      const spell = random.sample(spellings);
      return changeEntry(draft, random, (entry) => ({ ...entry, spell }));
    },
  },
  {
    name: "another MAC",
    apply: (draft, random) => {
      const changeMac = random.sample(macChanges);
      return changeEntry(draft, random, (entry) => ({ ...entry, changeMac }));
    },
  },
  {
    name: "wrong signatures beside it",
    apply: (draft, random) => addEntry(draft, random, wrong, random.pick([1, 1, 2, 3, 14, 15, 16, 17])),
  },
  { name: "no signature", apply: (draft) => ({ ...draft, entries: [] }) },
  {
    name: "a list of signatures in another form",
    apply: (draft, random) => ({ ...draft, writeList: random.sample(listForms) }),
  },
  {
    name: "other header lines",
    apply: (draft, random) => ({ ...draft, changeLines: random.sample(lineChanges)?.(random) }),
  },
];
