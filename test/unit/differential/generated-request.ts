// A request from a number: a valid delivery of which up to four parts are changed, before or after it is signed.

import { createHmac } from "node:crypto";
import { createRandom, type Random } from "../../integration/simulation/random.ts";
import { secretA, secretB } from "../../support/signed-delivery.ts";
import {
  changeBytes,
  changeLines,
  changeText,
  type HeaderLines,
  issuedSecret,
  oddText,
} from "./random-changes.ts";

/** The time of the receiver, in whole seconds. */
const nowSeconds = 1_772_357_400;

/** One signature of the header: what was signed, with which secret, and how it is written. */
interface Entry {
  readonly version: string;
  readonly secret: string;
  /** Signs the bytes, or the text that they decode to. */
  readonly over: "bytes" | "text";
  /** What was signed in place of what is sent. */
  readonly signed: { readonly id?: string; readonly timestamp?: string; readonly body?: Buffer };
  /** How the base64 text is written. */
  readonly spell?: (base64: string) => string;
}

interface Draft {
  readonly secrets: readonly string[];
  readonly nowMs: number;
  readonly id: string;
  readonly timestamp: string;
  readonly body: Buffer;
  readonly entries: readonly Entry[];
  /** How the list of signatures is written. */
  readonly writeList: (entries: readonly string[]) => string;
  readonly changeLines: (lines: HeaderLines) => HeaderLines;
}

export interface GeneratedRequest extends Pick<Draft, "secrets" | "nowMs" | "body"> {
  readonly seed: number;
  /** Names of the changes. */
  readonly changes: readonly string[];
  /** The header lines as sent. */
  readonly lines: HeaderLines;
}

export function generateRequest(seed: number): GeneratedRequest {
  const random = createRandom(seed, "request");
  let draft = validDraft(random);
  const changes: string[] = [];
  const count = random.pick([0, 1, 1, 1, 2, 2, 3, 4]);
  for (let number = 0; number < count; number += 1) {
    const name = random.sample(Object.keys(changeTable)) ?? "id";
    draft = { ...draft, ...changeTable[name]?.(draft, random.stream(String(number))) };
    changes.push(name);
  }
  const { secrets, nowMs, body } = draft;
  return { secrets, nowMs, body, seed, changes, lines: linesOf(draft) };
}

function validDraft(random: Random): Draft {
  const secret = random.pick([secretA, secretB]);
  return {
    secrets: [secret],
    nowMs: nowSeconds * 1_000 + random.pick([0, 1, 500, 999, 0.5]),
    id: `msg_${random.integer(1, 1_000_000)}`,
    timestamp: String(nowSeconds + random.integer(-300, 300)),
    body: Buffer.from(JSON.stringify({ event: "task.completed", n: random.integer(0, 99), text: "é 🧾" })),
    entries: [{ version: "v1", secret, over: "bytes", signed: {} }],
    writeList: (list) => list.join(" "),
    changeLines: (lines) => lines,
  };
}

function linesOf(draft: Draft): HeaderLines {
  return draft.changeLines([
    ["content-type", "application/json"],
    ["webhook-id", draft.id],
    ["webhook-timestamp", draft.timestamp],
    ["webhook-signature", draft.writeList(draft.entries.map((entry) => writeEntry(draft, entry)))],
  ]);
}

function writeEntry({ id, timestamp, body }: Draft, entry: Entry): string {
  const { version, secret, over, signed, spell = (base64) => base64 } = entry;
  const bytes = signed.body ?? body;
  // The key as a lenient reader takes it.
  const mac = createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"))
    .update(`${signed.id ?? id}.${signed.timestamp ?? timestamp}.`)
    .update(over === "bytes" ? bytes : bytes.toString());
  return `${version},${spell(mac.digest("base64"))}`;
}

/** Sends another value, which is signed, or replaces the signed one. */
function sendOther<Name extends "id" | "timestamp" | "body">(
  draft: Draft,
  name: Name,
  value: Draft[Name],
  isSignedToo: boolean,
): Partial<Draft> {
  const keep = (entry: Entry): Entry => ({ ...entry, signed: { [name]: draft[name], ...entry.signed } });
  return { [name]: value, entries: isSignedToo ? draft.entries : draft.entries.map(keep) };
}

const wrong: Entry = { version: "v1", secret: secretA, over: "bytes", signed: { id: "another" } };

const changeTable: Readonly<Record<string, (draft: Draft, random: Random) => Partial<Draft>>> = {
  id: (draft, random) => {
    const char = String.fromCharCode(random.integer(0, random.pick([0x7f, 0xff, 0xffff])));
    const inside = random.happens(0.5) ? oddText(random) : char;
    const long = "a".repeat(random.pick([255, 256]));
    const id = random.pick([`msg${inside}1`, `msg${inside}1`, changeText(draft.id, random), long]);
    return sendOther(draft, "id", id, random.happens(0.7));
  },
  age: (draft, random) => {
    const seconds = random.pick([-1, 1]) * random.pick([0, 1, 299, 300, 301, 302, 3_600, 31_536_000]);
    return sendOther(draft, "timestamp", String(nowSeconds + seconds), random.happens(0.9));
  },
  timestamp: (draft, random) => {
    const odd = oddText(random);
    const given = draft.timestamp;
    const timestamp = random.pick([odd + given, given + odd, changeText(given, random)]);
    // Lenient readers sign the number that they have read.
    const read = String(Number.parseInt(timestamp, 10));
    const signed = { timestamp: random.happens(0.6) ? read : timestamp };
    return { timestamp, entries: draft.entries.map((entry) => ({ ...entry, signed })) };
  },
  body: (draft, random) => {
    const special = Buffer.from(
      random.pick([`${nowSeconds}.{}`, `x.${nowSeconds}.{}`, "\uFEFF{}", "\uFFFD"]),
    );
    const body = random.happens(0.3) ? special : changeBytes(draft.body, random);
    return sendOther(draft, "body", body, random.happens(0.5));
  },
  "signed text": ({ entries }) => ({ entries: entries.map((entry) => ({ ...entry, over: "text" })) }),
  secret: (draft, random) => {
    const [first = secretA, ...others] = draft.secrets;
    const lengths = random.pick([0, 16, 23, 24, 33, 64, 65]);
    const secret = random.happens(0.4)
      ? issuedSecret(Buffer.alloc(lengths, 0x5d))
      : changeText(first, random);
    const signer = (entry: Entry) => (entry.secret === first ? { ...entry, secret } : entry);
    const entries = random.happens(0.8) ? draft.entries.map(signer) : draft.entries;
    return { secrets: [secret, ...others], entries };
  },
  rotation: (draft, random) => {
    const fresh = issuedSecret(Buffer.alloc(random.integer(24, 64), random.integer(1, 255)));
    const secrets = random.happens(0.5) ? [fresh, ...draft.secrets] : [...draft.secrets, fresh];
    const entry: Entry = { version: "v1", secret: fresh, over: "bytes", signed: {} };
    return { secrets, entries: random.happens(0.5) ? [...draft.entries, entry] : draft.entries };
  },
  version: ({ entries }, random) => {
    const version = changeText("v1", random);
    return { entries: entries.map((entry) => ({ ...entry, version })) };
  },
  mac: ({ entries }, random) => {
    const ofBytes = (base64: string) => changeBytes(Buffer.from(base64, "base64"), random).toString("base64");
    const spell = random.happens(0.3) ? ofBytes : (base64: string) => changeText(base64, random);
    return { entries: entries.map((entry) => ({ ...entry, spell })) };
  },
  "wrong signatures": ({ entries }, random) => {
    const long: Entry = { ...wrong, version: "v2", spell: () => "A".repeat(4_100) };
    const added = Array(random.pick([1, 2, 14, 15, 16, 17])).fill(wrong);
    return { entries: random.pick([[...added, ...entries], [...entries, ...added], [...entries, long], []]) };
  },
  list: (_, random) => ({
    writeList: (list) => changeText(list.join(random.pick([" ", " ", ",", ", "])), random),
  }),
  lines: (_, random) => ({ changeLines: (lines) => changeLines(lines, random) }),
};

/** The request as text, for a report. */
export function describeRequest({ seed, changes, body, ...fields }: GeneratedRequest) {
  const text = JSON.stringify({ ...fields, body: body.toString("hex") });
  return `request ${seed} (${changes.join(", ") || "unchanged"}): ${text}`;
}
