// Two implementations are compared: the receiver's verifier and the `standardwebhooks` package decide about
// the same deliveries. Where they differ, a predicate over the input (never over the receiver's own error code,
// which would excuse any mistake of the receiver) must say which listed difference it is.

import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createVerifier, type WebhookHeaders, WebhookRejectedError } from "workspace-tasks/receiver-kit";
import { secretA, secretB, signBytes } from "../../../support/signed-delivery.ts";
import listed from "../../../vectors/standardwebhooks-differences.json" with { type: "json" };

const nowSeconds = 1_772_357_400;

beforeAll(() => {
  // The package reads the machine's clock.
  vi.useFakeTimers({ toFake: ["Date"], now: nowSeconds * 1000 });
});
afterAll(() => {
  vi.useRealTimers();
});

type Delivery = {
  readonly secret: string;
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: Buffer;
};

const headersOf = ({ id, timestamp, signature }: Delivery) => ({
  "webhook-id": id,
  "webhook-timestamp": timestamp,
  "webhook-signature": signature,
});

async function receiverAccepts(
  delivery: Delivery,
  body: Uint8Array = delivery.body,
  headers: WebhookHeaders = headersOf(delivery),
) {
  try {
    await createVerifier({ secrets: [delivery.secret] }).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

function packageAccepts(
  delivery: Delivery,
  body: string | Buffer = delivery.body,
  headers: object = headersOf(delivery),
) {
  try {
    new Webhook(delivery.secret).verify(body, headers as Record<string, string>, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

/** What the package signs: the parsed number and the decoded text. The only signature it ever takes. */
function packageSignature({ secret, id, timestamp, body }: Omit<Delivery, "signature">): string {
  return new Webhook(secret).sign(id, new Date(Number.parseInt(timestamp, 10) * 1000), body);
}

const packageDelivery = (parts: Omit<Delivery, "signature">): Delivery => ({
  ...parts,
  signature: packageSignature(parts),
});

const honest = {
  secret: secretA,
  id: "msg_1",
  timestamp: String(nowSeconds),
  body: Buffer.from('{"event":"x"}'),
};

/** The listed differences that turn on the delivery itself, each as a question about the input alone. */
const predicates: Record<string, (delivery: Delivery) => boolean> = {
  "secret-not-as-issued": ({ secret }) => !isIssuedSecret(secret),
  "timestamp-not-plain-digits": ({ timestamp }) =>
    /\D/.test(timestamp) || String(Number(timestamp)) !== timestamp || timestamp.length > 12,
  "id-outside-alphabet": ({ id }) =>
    id.length > 255 || [...id].some((char) => !/[A-Za-z0-9]/.test(char) && !"._:~+/=@-".includes(char)),
  "body-begins-like-timestamp": ({ body }) =>
    /^([A-Za-z0-9._:~+/=@-]{1,255}\.)?[1-9]\d{9,11}\./.test(body.subarray(0, 300).toString("latin1")),
  "signature-list-malformed": ({ signature }) =>
    signature.split(" ").some((entry) => {
      const [version, mac, ...rest] = entry.split(",");
      return (
        !version ||
        !mac ||
        rest.length > 0 ||
        /[^A-Za-z0-9]/.test(version) ||
        version.length > 8 ||
        /[^\w+/=-]|=[^=]|^=|===/.test(mac)
      );
    }),
  "signature-list-too-long": ({ signature }) => signature.split(" ").length > 16 || signature.length > 4096,
  "body-swapped-for-replacement-character": ({ body }) => !isUtf8(body),
};

function isIssuedSecret(secret: string): boolean {
  const key = Buffer.from(secret.slice(6), "base64");
  const respelled = `whsec_${key.toString("base64")}`;
  return respelled === secret && key.length >= 24 && key.length <= 64 && !/^whsec_[0-9a-f]+$/i.test(secret);
}

const examples: Record<string, () => Promise<{ receiver: boolean; package: boolean }>> = {
  "secret-not-as-issued": () => decide(packageDelivery({ ...honest, secret: "whsec_AA==" })),
  "timestamp-not-plain-digits": () => decide(packageDelivery({ ...honest, timestamp: `${nowSeconds}x` })),
  "id-outside-alphabet": () => decide(packageDelivery({ ...honest, id: "'; drop table inbox; --" })),
  "body-begins-like-timestamp": () =>
    decide(packageDelivery({ ...honest, body: Buffer.from(`${nowSeconds}.{}`) })),
  "signature-list-malformed": () => decide({ ...honest, signature: `${packageSignature(honest)},junk` }),
  "signature-list-too-long": () =>
    decide({ ...honest, signature: `${"v2,AAAA ".repeat(16)}${packageSignature(honest)}` }),
  "body-swapped-for-replacement-character": () => {
    const signature = packageSignature({ ...honest, body: Buffer.from('{"a":"\uFFFD"}') });
    return decide({ ...honest, signature, body: Buffer.from('{"a":"\xff"}', "latin1") });
  },
  "body-as-text": async () => {
    const delivery = packageDelivery(honest);
    const text = delivery.body.toString();
    return {
      receiver: await receiverAccepts(delivery, text as never),
      package: packageAccepts(delivery, text),
    };
  },
  "body-not-utf8-signed-as-bytes": () => {
    const body = Buffer.from('{"a":"\xff"}', "latin1");
    return decide({
      ...honest,
      body,
      signature: signBytes(honest.secret, `${honest.id}.${honest.timestamp}.`, body),
    });
  },
  "body-as-plain-bytes": async () => {
    const delivery = packageDelivery(honest);
    const bytes = new Uint8Array(delivery.body);
    return {
      receiver: await receiverAccepts(delivery, bytes),
      package: packageAccepts(delivery, bytes as never),
    };
  },
  "headers-of-fetch": async () => {
    const delivery = packageDelivery(honest);
    const headers = new Headers(headersOf(delivery));
    return {
      receiver: await receiverAccepts(delivery, delivery.body, headers),
      package: packageAccepts(delivery, delivery.body, headers),
    };
  },
};

async function decide(delivery: Delivery) {
  return { receiver: await receiverAccepts(delivery), package: packageAccepts(delivery) };
}

describe("the list of differences from standardwebhooks", () => {
  it("has one example for each difference and no other example", () => {
    expect(Object.keys(examples).sort()).toEqual(listed.differences.map(({ id }) => id).sort());
  });

  it.each(listed.differences)("is correct for $id", async ({ id, accepts, reason }) => {
    const verdict = await examples[id]!();
    expect(verdict).toEqual({ receiver: accepts === "receiver", package: accepts === "standardwebhooks" });
    expect(reason.length).toBeGreaterThan(40);
  });

  it("contains what fails in the package with an error that is not its own", () => {
    // Not a difference of decision but of manners: the verifier's own error has a code, these have none.
    const delivery = packageDelivery({ ...honest, body: Buffer.from("not JSON") });
    const verify = (body: unknown, headers: object) => () =>
      new Webhook(secretA).verify(body as string, headers as Record<string, string>);
    expect(verify(delivery.body, headersOf(delivery))).toThrow(SyntaxError);
    expect(verify(undefined, headersOf(delivery))).toThrow(TypeError);
    expect(
      verify(delivery.body, { ...headersOf(delivery), "webhook-signature": [delivery.signature] }),
    ).toThrow(TypeError);
  });
});

const arbitraryId = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[A-Za-z0-9._:~+/=@-]{1,30}$/) },
  fc.constantFrom(
    "msg.1",
    "msg.1772357400",
    "a.123456789",
    "a.1234567890123",
    "a".repeat(255),
    "a".repeat(256),
    "Größe",
    'a{"b',
    "a\n",
  ),
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 20 }),
);

const arbitraryTimestamp = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -310, max: 310 }).map((offset) => String(nowSeconds + offset)) },
  fc
    .tuple(
      fc.constantFrom("", " ", "+", "-", "0", "00", "0x", "\t"),
      fc.constantFrom("", " ", "x", ".0", ".9", "e0", "e3", "000", ",", "n"),
    )
    .map(([before, after]) => `${before}${nowSeconds}${after}`),
  fc.constantFrom(
    "",
    "0",
    "1",
    "999999999999",
    "9999999999999",
    "99999999999999999999",
    "NaN",
    "Infinity",
    "2026-03-01T09:30:00Z",
  ),
  fc.string({ maxLength: 14 }),
);

const arbitraryBody = fc.oneof(
  { weight: 3, arbitrary: fc.json().map((text) => Buffer.from(text)) },
  { weight: 3, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
  fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
  fc
    .constantFrom("", "\uFEFF{}", '{"a":"\uFFFD"}', "\0", `${nowSeconds}.{}`)
    .map((text) => Buffer.from(text)),
  fc
    .constantFrom("ff", "c080", "eda080", "f4908080", "efbfbd", "e282", "efbbbf7b7d")
    .map((hex) => Buffer.from(hex, "hex")),
);

const arbitrarySecret = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(secretA, secretB) },
  fc.uint8Array({ maxLength: 70 }).map((bytes) => `whsec_${Buffer.from(bytes).toString("base64")}`),
  fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString("base64")),
  fc
    .uint8Array({ minLength: 24, maxLength: 64 })
    .map((bytes) => `whsec_${Buffer.from(bytes).toString("base64url")}`),
  fc
    .uint8Array({ minLength: 16, maxLength: 32 })
    .map((bytes) => `whsec_${Buffer.from(bytes).toString("hex")}`),
  fc.constantFrom(
    "",
    "whsec_",
    `v1,${secretA}`,
    `${secretA}\n`,
    ` ${secretA}`,
    secretA.replace("=", ""),
    "whsec_AA==",
  ),
);

/** Ways to write a header around one signature. */
const signatureForms: readonly ((right: string) => string)[] = [
  (right) => right,
  (right) => `v1,${"A".repeat(43)}= ${right}`,
  (right) => `${right} v1a,AAAA`,
  (right) => `${right} v2,AAAA`,
  (right) => `${right},junk`,
  (right) => `${right} junk`,
  (right) => `${right}  ${right}`,
  (right) => ` ${right}`,
  (right) => `${right} `,
  (right) => `${right}, ${right}`,
  (right) => `${right},${right}`,
  (right) => `${right}\t${right}`,
  (right) => right.replace("v1", "V1"),
  (right) => right.replace("v1", "v2"),
  (right) => right.replace("v1", " v1"),
  (right) => right.replace(",", ", "),
  (right) => right.slice(3),
  (right) => right.slice(0, -1),
  (right) => `${right.slice(0, -2)}B=`,
  (right) => right.replaceAll("+", "-").replaceAll("/", "_"),
  (right) => `v1, ${right}`,
  (right) => `${`v1,${"A".repeat(43)}= `.repeat(15)}${right}`,
  (right) => `${`v1,${"A".repeat(43)}= `.repeat(16)}${right}`,
  (right) => `v2,${"A".repeat(4100)} ${right}`,
  () => "v1",
  () => "v1,",
  () => "",
];

const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, arbitrary);

const arbitraryDelivery: fc.Arbitrary<Delivery> = fc
  .record({
    secret: arbitrarySecret,
    id: arbitraryId,
    timestamp: arbitraryTimestamp,
    body: arbitraryBody,
    signer: fc.constantFrom("package", "package", "bytes", "other secret"),
    form: fc.oneof(
      { weight: 3, arbitrary: fc.constant(signatureForms[0]!) },
      fc.constantFrom(...signatureForms),
    ),
    sent: rarely(arbitraryBody),
    junk: rarely(fc.string({ maxLength: 60 })),
  })
  .map(({ signer, form, sent, junk, ...parts }) => {
    const signature = junk ?? form(signBy(signer, parts));
    // Sometimes other bytes are sent than were signed: what decodes to the same text, or anything at all.
    return { ...parts, signature, body: sent ?? parts.body };
  });

function signBy(signer: string, parts: Omit<Delivery, "signature">): string {
  if (signer === "bytes") return signBytes(parts.secret, `${parts.id}.${parts.timestamp}.`, parts.body);
  const secret = signer === "other secret" || !isUsableByPackage(parts.secret) ? secretB : parts.secret;
  return packageSignature({ ...parts, secret });
}

function isUsableByPackage(secret: string): boolean {
  try {
    return new Webhook(secret) instanceof Webhook;
  } catch {
    return false;
  }
}

async function compare(delivery: Delivery, tally: Map<string, number>): Promise<void> {
  const verdict = await decide(delivery);
  // What the list calls wrong, the receiver never takes; only of bytes that are no text it may take some.
  const wrongs = Object.keys(predicates).filter((id) => predicates[id]?.(delivery));
  if (verdict.receiver) {
    expect(wrongs.filter((id) => id !== "body-swapped-for-replacement-character")).toEqual([]);
  }
  const count = (name: string) => tally.set(name, (tally.get(name) ?? 0) + 1);
  if (verdict.receiver === verdict.package)
    return void count(verdict.receiver ? "both accept" : "both reject");
  if (verdict.receiver) {
    expect(isUtf8(delivery.body), `accepted by the receiver alone: ${describeDelivery(delivery)}`).toBe(
      false,
    );
    return void count("body-not-utf8-signed-as-bytes");
  }
  expect(wrongs, `accepted by the package alone: ${describeDelivery(delivery)}`).not.toEqual([]);
  for (const wrong of wrongs) count(wrong);
}

const describeDelivery = (delivery: Delivery) =>
  JSON.stringify({ ...delivery, body: delivery.body.toString("hex") });

describe("fuzzed deliveries in both verifiers", () => {
  it.each([
    ["from a fixed seed", 20_260_301, 10_000],
    ["from a new seed", undefined, 2000],
  ])("%s differ only as listed", async (_, seed, numRuns) => {
    const tally = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(arbitraryDelivery, (delivery) => compare(delivery, tally)),
      seed === undefined ? { numRuns } : { numRuns, seed },
    );
    // The fuzzing bites only while it meets every kind of verdict and every difference.
    const met = ["both accept", "both reject", "body-not-utf8-signed-as-bytes", ...Object.keys(predicates)];
    if (seed !== undefined) expect([...tally.keys()].sort()).toEqual(met.sort());
  });

  it("include the replacement of a byte by a signed U+FFFD", async () => {
    const invalid = fc.uint8Array({ minLength: 1, maxLength: 30 }).filter((bytes) => !isUtf8(bytes));
    await fc.assert(
      fc.asyncProperty(invalid, async (bytes) => {
        const sent = Buffer.from(bytes);
        const signature = packageSignature({ ...honest, body: Buffer.from(sent.toString()) });
        const verdict = await decide({ ...honest, body: sent, signature });
        expect(verdict).toEqual({ receiver: false, package: true });
      }),
      { numRuns: 300 },
    );
  });

  it("fail the comparison when a difference is not listed", async () => {
    // A delivery that both accept, compared as if the receiver had rejected it for no listed reason.
    const delivery = packageDelivery(honest);
    expect(await decide(delivery)).toEqual({ receiver: true, package: true });
    expect(Object.values(predicates).some((explains) => explains(delivery))).toBe(false);
  });
});

describe("genuine deliveries in both verifiers", () => {
  it("are accepted with any id, age within the tolerance, secret and text", async () => {
    const issued = fc
      .uint8Array({ minLength: 24, maxLength: 64 })
      .map((bytes) => `whsec_${Buffer.from(bytes).toString("base64")}`);
    const text = fc.oneof(fc.json(), fc.string({ unit: "grapheme" })).map((value) => Buffer.from(value));
    const offset = fc.integer({ min: -300, max: 300 });
    const id = fc.oneof(fc.uuid(), fc.stringMatching(/^msg_[A-Za-z0-9]{27}$/));
    await fc.assert(
      fc.asyncProperty(issued, id, offset, text, async (secret, webhookId, seconds, body) => {
        const delivery = packageDelivery({
          secret,
          id: webhookId,
          timestamp: String(nowSeconds + seconds),
          body,
        });
        expect(await decide(delivery)).toEqual({ receiver: true, package: true });
      }),
      { numRuns: 500 },
    );
  });

  it("are rejected once one character of the signature changes", async () => {
    const delivery = packageDelivery(honest);
    const place = fc.integer({ min: 3, max: delivery.signature.length - 2 });
    await fc.assert(
      fc.asyncProperty(place, fc.constantFrom(..."Aa0+/"), async (at, char) => {
        fc.pre(delivery.signature[at] !== char);
        const signature = delivery.signature.slice(0, at) + char + delivery.signature.slice(at + 1);
        expect(await decide({ ...delivery, signature })).toEqual({ receiver: false, package: false });
      }),
    );
    await expect(
      createVerifier({ secrets: [secretA] }).verify(delivery.body, {
        ...headersOf(delivery),
        "webhook-signature": "v1,AAAA",
      }),
    ).rejects.toBeInstanceOf(WebhookRejectedError);
  });
});
