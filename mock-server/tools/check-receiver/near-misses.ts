// A receiver that rejects even a valid delivery usually has one mistake. Each near miss is a delivery that is valid for
// a receiver with that mistake: when it is acknowledged, the cause is known.

import { signatureOf } from "@workspace-tasks/receiver-kit/parts";
import { type Change, type Changes, describeResult, isAcknowledged } from "./checks/probe-check.ts";
import type { ProbeResult } from "./target/connection.ts";
import { type Delivery, keyOf, sign, signaturePrefix, signWithKey } from "./target/signing.ts";
import type { Target } from "./target/target.ts";

/** The cause that the first acknowledged near miss shows; undefined when none is acknowledged. */
export async function findCause(target: Target, changes: Changes): Promise<string | undefined> {
  for (const [cause, change] of Object.entries(changes)) {
    const delivery = target.compose();
    const result = await target.send({ ...delivery, ...(await change(delivery, target)) });
    if (isAcknowledged(result))
      return `${cause} (the response to such a delivery: ${describeResult(result)}).`;
    if (result.kind === "timeout") return undefined;
  }
  return undefined;
}

export const bodyParserInFront: Changes = {
  "It accepts the same delivery as text/plain: a JSON body parser consumes the body before the signature is checked; mount the webhook route before it":
    () => ({ contentType: "text/plain" }),
};

/** By the cause that each of them shows. `rejected`: how the receiver responded to the valid delivery. */
export function nearMisses({ clock, oldSecret }: Target, rejected: ProbeResult): Changes {
  const date = rejected.kind === "response" ? rejected.headers.get("date") : undefined;
  const aheadSeconds = Math.round((Date.parse(date ?? "") - clock.now()) / 1000);
  return {
    "It rejected the first delivery and accepts another one: it was still starting, or it fails now and then":
      () => ({}),
    ...bodyParserInFront,
    ...(Math.abs(aheadSeconds) >= 30 && {
      [`Its clock differs from this machine's by ${aheadSeconds} s, and it accepts a delivery with its own time`]:
        aged(-aheadSeconds),
    }),
    ...keys,
    ...(oldSecret !== undefined && {
      "It knows the secret given as --old-secret, but not the one given as --secret": signed((_, delivery) =>
        sign(delivery, oldSecret),
      ),
    }),
    ...headerNames,
    ...signedContents,
    ...signatureFormats,
    ...times,
  };
}

const signed =
  (sign: (target: Target, delivery: Delivery) => string): Change =>
  (delivery, target) => ({ signature: sign(target, delivery) });

const aged =
  (ageSeconds: number): Change =>
  (_, { compose }) =>
    compose({ ageSeconds });

const keyed = (keyFrom: (secret: string) => Buffer) =>
  signed(({ secret }, delivery) => signWithKey(delivery, keyFrom(secret)));

const decodeIt = "the key is the text after whsec_, decoded from base64";

const keys: Changes = {
  [`It uses the text of the secret as the key, with its whsec_ prefix; ${decodeIt}`]: keyed((secret) =>
    Buffer.from(secret),
  ),
  [`It uses the text of the secret as the key; ${decodeIt}`]: keyed((secret) =>
    Buffer.from(secret.replace(/^whsec_/, "")),
  ),
  [`It decodes the secret together with its whsec_ prefix; ${decodeIt}`]: keyed((secret) =>
    Buffer.from(secret, "base64"),
  ),
};

const renamed =
  (rename: (name: string) => string): Change =>
  () => ({ rename });

const headerNames: Changes = {
  "It reads the headers svix-id, svix-timestamp and svix-signature; the service sends webhook-…": renamed(
    (name) => name.replace("webhook-", "svix-"),
  ),
  "It reads the headers x-webhook-id, x-webhook-timestamp and x-webhook-signature; the service sends webhook-…":
    renamed((name) => `x-${name}`),
  "It finds the headers only as Webhook-Id, Webhook-Timestamp and Webhook-Signature; names of headers have no case":
    renamed((name) => name.replace(/(^|-)[a-z]/g, (text) => text.toUpperCase())),
};

/** Signs another text in place of the body. */
const signedAs = (textOf: (body: string) => string) =>
  signed(({ sign }, delivery) => sign({ ...delivery, body: Buffer.from(textOf(delivery.body.toString())) }));

const sorted = (text: string) =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).toSorted()));

/** As Python's json.dumps writes it. */
const spaced = (text: string) =>
  JSON.stringify(JSON.parse(text), null, 1).replace(/,\n */g, ", ").replace(/\n */g, "");

const hashed = (contentOf: (delivery: Delivery) => string) =>
  signed(({ secret }, delivery) => signaturePrefix + signatureOf(keyOf(secret), "", contentOf(delivery)));

const rawBytes = "compute the HMAC over the raw bytes of the request body";

const signedContents: Changes = {
  [`It parses the body and serializes it again, with spaces, before hashing, as Python's json.dumps does; ${rawBytes}`]:
    signedAs(spaced),
  [`It parses the body and serializes it again, with sorted keys, before hashing; ${rawBytes}`]:
    signedAs(sorted),
  [`It parses the body and serializes it again, with sorted keys and spaces, before hashing; ${rawBytes}`]:
    signedAs((text) => spaced(sorted(text))),
  [`It parses the body and serializes it again, indented, before hashing; ${rawBytes}`]: signedAs((text) =>
    JSON.stringify(JSON.parse(text), null, 2),
  ),
  [`It adds a newline to the body before hashing; ${rawBytes}`]: signedAs((text) => `${text}\n`),
  "It hashes the body alone; the signed text is `id.timestamp.body`": hashed(({ body }) => body.toString()),
  "It hashes `timestamp.body`; the signed text is `id.timestamp.body`": hashed(
    ({ timestamp, body }) => `${timestamp}.${body}`,
  ),
};

const encoded = ({ signature }: Delivery) => signature.slice(signaturePrefix.length);

const signatureFormats: Changes = {
  "It expects the signature without `v1,` in front; split webhook-signature at spaces, and each part at the comma":
    signed((_, delivery) => encoded(delivery)),
  "It expects the signature in hexadecimal; it is base64": signed(
    (_, delivery) => signaturePrefix + Buffer.from(encoded(delivery), "base64").toString("hex"),
  ),
};

const hours = Array.from({ length: 27 }, (_, index) => index - 12).filter((hour) => hour !== 0);

const times: Changes = {
  "It compares webhook-timestamp with a clock in milliseconds; the header is in seconds": (
    delivery,
    target,
  ) => {
    const timestamp = String(Math.round(target.clock.now()));
    return { timestamp, signature: target.sign({ ...delivery, timestamp }) };
  },
  ...Object.fromEntries(
    hours.map((hour) => [
      `It accepts a delivery dated ${Math.abs(hour)} h ${hour > 0 ? "ahead" : "back"}: its clock or its time zone is wrong; compare seconds since 1970 in UTC`,
      aged(-hour * 3600),
    ]),
  ),
};
