// A request from a number: a valid delivery, and up to four mutations.

import { createHmac } from "node:crypto";
import { createRandom, type Random } from "../../integration/simulation/random.ts";
import { secretA, secretB } from "../../support/signed-delivery.ts";
import { type Draft, type Entry, type HeaderLines, nowSeconds } from "./draft.ts";
import { mutationTable } from "./request-mutations.ts";

export interface GeneratedRequest extends Draft {
  readonly seed: number;
  /** Names of the mutations. */
  readonly mutations: readonly string[];
  /** The header lines as sent. */
  readonly lines: HeaderLines;
}

export function generateRequest(seed: number): GeneratedRequest {
  const random = createRandom(seed, "request");
  let draft = validDraft(random);
  const mutations: string[] = [];
  const count = random.pick([0, 1, 1, 1, 2, 2, 3, 4]);
  for (let number = 0; number < count; number += 1) {
    const mutation = random.pick(mutationTable);
    draft = mutation.apply(draft, random.stream(String(number)));
    mutations.push(mutation.name);
  }
  return { ...draft, seed, mutations, lines: linesOf(draft) };
}

function validDraft(random: Random): Draft {
  const secret = random.pick([secretA, secretB]);
  const ageSeconds = random.integer(-300, 300);
  return {
    secrets: [secret],
    nowMs: nowSeconds * 1_000 + random.pick([0, 1, 500, 999, 0.5]),
    id: `msg_${random.integer(1, 1_000_000)}`,
    timestamp: String(nowSeconds - ageSeconds),
    body: Buffer.from(JSON.stringify({ event: "task.completed", n: random.integer(0, 99), text: "é 🧾" })),
    entries: [{ version: "v1", secret, over: "bytes", signed: {} }],
  };
}

function linesOf(draft: Draft): HeaderLines {
  const {
    id,
    timestamp,
    entries,
    writeList = (list) => list.join(" "),
    changeLines = (same) => same,
  } = draft;
  return changeLines([
    ["content-type", "application/json"],
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", writeList(entries.map((entry) => writeEntry(draft, entry)))],
  ]);
}

function writeEntry(draft: Draft, entry: Entry): string {
  const { version, changeMac = (mac) => mac, spell = (base64) => base64 } = entry;
  return `${version},${spell(changeMac(macOf(draft, entry)).toString("base64"))}`;
}

function macOf({ id, timestamp, body }: Draft, { secret, over, signed }: Entry): Buffer {
  const bytes = signed.body ?? body;
  return createHmac("sha256", keyOf(secret))
    .update(`${signed.id ?? id}.${signed.timestamp ?? timestamp}.`)
    .update(over === "bytes" ? bytes : bytes.toString())
    .digest();
}

/** The key as a lenient reader takes it. */
const keyOf = (secret: string) => Buffer.from(secret.replace(/^whsec_/, ""), "base64");

/** The request as text, for a report. */
export function describeRequest({ seed, mutations, lines, body, secrets, nowMs }: GeneratedRequest) {
  const fields = { lines, body: body.toString("hex"), secrets, nowMs };
  return `request ${seed} (${mutations.join("; ") || "no mutation"}): ${JSON.stringify(fields)}`;
}
