import { createVirtualClock } from "@workspace-tasks/mock-server";
import { createVerifier, WebhookRejectedError } from "@workspace-tasks/receiver-kit";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { secretA, secretB, signBytes, signDelivery } from "../../../support/signed-delivery.ts";
import signatures from "../../../vectors/signatures.json" with { type: "json" };

const nowSeconds = 1_772_357_400;
const body = '{"event":"task.running"}';

const stoppedClock = (startMs = nowSeconds * 1000) => createVirtualClock(startMs);

async function rejectionOf(pending: Promise<unknown>): Promise<WebhookRejectedError> {
  const outcome = await pending.then(
    () => new Error("expected a rejection, got a verified delivery"),
    (error: unknown) => error,
  );
  if (outcome instanceof WebhookRejectedError) return outcome;
  throw outcome;
}

function bodyOf(vector: (typeof signatures.vectors)[number]): Buffer {
  if (vector.bodyBase64 !== undefined) return Buffer.from(vector.bodyBase64, "base64");
  const { before, repeat, times, after } = vector.bodyRepeated!;
  return Buffer.from(before + repeat.repeat(times) + after);
}

it.each(signatures.vectors)(
  "a vector signed by another library verifies, and not with one bit of the body changed: $name",
  async (vector) => {
    const clock = stoppedClock(vector.timestamp * 1000);
    const verifier = createVerifier({ secrets: [vector.secret], clock });
    const raw = bodyOf(vector);
    const { id, timestamp, signature } = vector;
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signature,
    };
    expect(await verifier.verify(raw, headers)).toEqual({ id, timestamp, body: raw, secretIndex: 0 });
    const changed = Buffer.concat([raw, Buffer.alloc(raw.length === 0 ? 1 : 0)]);
    changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
    expect((await rejectionOf(verifier.verify(changed, headers))).code).toBe("SIGNATURE_MISMATCH");
  },
);

describe("verifier.verify", () => {
  const verifier = createVerifier({ secrets: [secretA], clock: stoppedClock() });
  const delivery = signDelivery({ body, timestampSeconds: nowSeconds, id: "msg_1" });

  it("accepts any Uint8Array, also a view into a larger buffer", async () => {
    const larger = Buffer.concat([Buffer.from("xxx"), delivery.body, Buffer.from("yyy")]);
    const view = new Uint8Array(larger.buffer, larger.byteOffset + 3, delivery.body.length);
    await expect(verifier.verify(view, delivery.headers)).resolves.toMatchObject({ id: "msg_1" });
  });

  it.each([undefined, null, body, JSON.parse(body), new ArrayBuffer(8), 7])(
    "rejects %s in place of the raw bytes, and says why",
    async (notBytes) => {
      const rejection = await rejectionOf(verifier.verify(notBytes, delivery.headers));
      expect(rejection).toMatchObject({ code: "BODY_CONSUMED", status: 500 });
      const type = notBytes === null ? "null" : typeof notBytes;
      expect(rejection.message).toContain(`raw body as bytes (Uint8Array or Buffer), got ${type}: `);
    },
  );

  const signature = delivery.headers["webhook-signature"];
  it.each([
    ["another id", { "webhook-id": "msg_2" }],
    ["another timestamp", { "webhook-timestamp": String(nowSeconds + 1) }],
    ["no v1 signature", { "webhook-signature": signature.replace("v1", "v2") }],
    ["upper-case version", { "webhook-signature": signature.replace("v1", "V1") }],
    ["a cut signature", { "webhook-signature": signature.slice(0, -2) }],
    ["an unpadded signature", { "webhook-signature": signature.replace("=", "") }],
    ["a hexadecimal signature", { "webhook-signature": `v1,${"ab".repeat(32)}` }],
  ])("rejects a delivery with %s", async (_, changed) => {
    const headers = { ...delivery.headers, ...changed };
    const rejection = await rejectionOf(verifier.verify(delivery.body, headers));
    const webhookId = headers["webhook-id"];
    expect(rejection).toMatchObject({ code: "SIGNATURE_MISMATCH", status: 401, webhookId });
  });

  it.each([
    ["ends like a timestamp", `msg_1.${nowSeconds - 10}`, `${nowSeconds}.`],
    ["contains a timestamp", `msg_1.${nowSeconds - 10}.v.2`, `v.2.${nowSeconds}.`],
  ])("accepts a delivery whose id %s, and rejects it with moved dots", async (_, id, moved) => {
    const body = '{"event":"x"}';
    const honest = signDelivery({ id, timestampSeconds: nowSeconds, body });
    expect(await verifier.verify(Buffer.from(body), honest.headers)).toMatchObject({ id });
    const shifted = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(nowSeconds - 10),
      "webhook-signature": honest.headers["webhook-signature"],
    };
    // The signed text is the same byte for byte: only the body can tell the two apart.
    const shiftedBody = Buffer.from(moved + body);
    expect(signBytes(secretA, `msg_1.${nowSeconds - 10}.`, shiftedBody)).toBe(shifted["webhook-signature"]);
    const rejection = await rejectionOf(verifier.verify(shiftedBody, shifted));
    expect(rejection).toMatchObject({ code: "SIGNATURE_MISMATCH", webhookId: "msg_1" });
  });

  it("accepts a body of text that has a timestamp further on", async () => {
    const text = signDelivery({ body: `a text of ${nowSeconds}.`, timestampSeconds: nowSeconds });
    await expect(verifier.verify(text.body, text.headers)).resolves.toMatchObject({ id: text.id });
  });

  it("rejects any input with a WebhookRejectedError and no other error", async () => {
    const anyHeaders = fc.oneof(
      fc.anything(),
      fc.record(
        {
          "webhook-id": fc.anything(),
          "webhook-timestamp": fc.anything(),
          "webhook-signature": fc.anything(),
        },
        { requiredKeys: [] },
      ),
      fc.array(fc.oneof(fc.constantFrom(...Object.entries(delivery.headers).flat()), fc.anything())),
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.anything(), fc.uint8Array()), anyHeaders, async (rawBody, headers) => {
        const rejection = await rejectionOf(verifier.verify(rawBody as Uint8Array, headers as Headers));
        expect(rejection.status).toBeGreaterThanOrEqual(400);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a delivery of which one header is changed", () => {
  const odd = [
    "",
    " ",
    "\0",
    "\n",
    "\uFEFF",
    "0",
    "+",
    "-",
    "=",
    ".5",
    "e0",
    "x",
    ",",
    ", ",
    ",junk",
    "v1,",
    "v2",
    "é",
    "١",
  ];
  const respell: readonly ((text: string) => string)[] = [
    (text) => text.toUpperCase(),
    (text) => text.toLowerCase(),
    (text) => text.replaceAll("+", "-").replaceAll("/", "_"),
    (text) => text.replace(/=+$/, ""),
    // The last of 43 characters of a signature has two unused bits.
    (text) => text.replace(/.(?==$)/, (char) => String.fromCharCode(char.charCodeAt(0) + 1)),
    (text) => `${text} ${text}`,
  ];
  const change = fc.oneof(
    fc.constantFrom(...respell),
    fc
      .tuple(fc.nat(60), fc.nat(2), fc.constantFrom(...odd))
      .map(([at, removed, inserted]) => (text: string) => {
        return text.slice(0, at) + inserted + text.slice(at + removed);
      }),
  );
  const verifier = createVerifier({ secrets: [secretA], clock: stoppedClock() });
  const { headers, body: raw } = signDelivery({ body, timestampSeconds: nowSeconds, id: "msg_1" });
  const signature = headers["webhook-signature"];

  afterEach(() => void vi.useRealTimers());

  it("is accepted only where what was signed is the same, and another library accepts it", async () => {
    vi.useFakeTimers({ now: nowSeconds * 1000, toFake: ["Date"] });
    const accepted = new Set<string>();
    const names = Object.keys(headers) as (keyof typeof headers)[];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), change, async (name, change) => {
        const changed = { ...headers, [name]: change(headers[name]) };
        const isAccepted = await verifier.verify(raw, changed).then(
          () => true,
          () => false,
        );
        if (!isAccepted) return;
        accepted.add(name);
        expect(() => new Webhook(secretA).verify(raw, changed)).not.toThrow();
        expect(changed).toMatchObject({
          ...headers,
          "webhook-signature": expect.stringContaining(signature),
        });
      }),
      { numRuns: 2_000 },
    );
    // A signature beside that of the delivery changes nothing.
    expect(accepted).toContain("webhook-signature");
  });
});

describe("the age of a delivery", () => {
  it.each([
    [-300, undefined],
    [300, undefined],
    [-301, "TIMESTAMP_TOO_OLD"],
    [301, "TIMESTAMP_TOO_NEW"],
    [-315_360_000, "TIMESTAMP_TOO_OLD"],
  ])("signed %i seconds from now gives %s", async (offsetSeconds, code) => {
    const verifier = createVerifier({ secrets: [secretA], clock: stoppedClock(nowSeconds * 1000 + 999) });
    const delivery = signDelivery({ body, timestampSeconds: nowSeconds + offsetSeconds });
    const verified = verifier.verify(delivery.body, delivery.headers);
    if (code)
      expect(await rejectionOf(verified)).toMatchObject({ code, status: 401, webhookId: delivery.id });
    else await expect(verified).resolves.toMatchObject({ timestamp: nowSeconds + offsetSeconds });
  });

  it("is compared with toleranceSeconds", async () => {
    const verifier = createVerifier({ secrets: [secretA], toleranceSeconds: 10, clock: stoppedClock() });
    const old = signDelivery({ body, timestampSeconds: nowSeconds - 11 });
    expect((await rejectionOf(verifier.verify(old.body, old.headers))).message).toContain("signed 11 s ago");
    const early = signDelivery({ body, timestampSeconds: nowSeconds + 11 });
    const { message } = await rejectionOf(verifier.verify(early.body, early.headers));
    expect(message).toContain("signed 11 s in the future");
  });

  it("is measured at receivedAt when that is given", async () => {
    const clock = stoppedClock((nowSeconds + 86_400) * 1000);
    const verifier = createVerifier({ secrets: [secretA], clock });
    const kept = signDelivery({ body, timestampSeconds: nowSeconds });
    expect((await rejectionOf(verifier.verify(kept.body, kept.headers))).code).toBe("TIMESTAMP_TOO_OLD");
    const options = { receivedAt: nowSeconds * 1000 };
    await expect(verifier.verify(kept.body, kept.headers, options)).resolves.toMatchObject({ id: kept.id });
  });

  it("is rejected when receivedAt is not a number", async () => {
    const verifier = createVerifier({ secrets: [secretA], clock: stoppedClock() });
    const delivery = signDelivery({ body, timestampSeconds: nowSeconds });
    const verified = verifier.verify(delivery.body, delivery.headers, { receivedAt: Number.NaN });
    expect((await rejectionOf(verified)).status).toBe(401);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    "cannot be ignored with toleranceSeconds %d",
    (toleranceSeconds) => {
      expect(() => createVerifier({ secrets: [secretA], toleranceSeconds })).toThrow(
        /toleranceSeconds: expected a positive number, got/,
      );
    },
  );
});

describe("the secrets of a verifier", () => {
  const byB = signDelivery({ body, timestampSeconds: nowSeconds, secret: secretB });

  it("are all tried, and secretIndex says which one signed", async () => {
    const verifier = createVerifier({ secrets: [secretA, secretB], clock: stoppedClock() });
    await expect(verifier.verify(byB.body, byB.headers)).resolves.toMatchObject({ secretIndex: 1 });
  });

  it("are read from a function at every delivery, so that a retired secret stops at once", async () => {
    let active: string[] = [secretA, secretB];
    const verifier = createVerifier({ secrets: async () => active, clock: stoppedClock() });
    await expect(verifier.verify(byB.body, byB.headers)).resolves.toMatchObject({ secretIndex: 1 });
    active = [secretA];
    expect((await rejectionOf(verifier.verify(byB.body, byB.headers))).code).toBe("SIGNATURE_MISMATCH");
    active = [secretB];
    await expect(verifier.verify(byB.body, byB.headers)).resolves.toMatchObject({ secretIndex: 0 });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("vault sealed");
      },
      "the function failed",
    ],
    ["rejects", () => Promise.reject(new Error("vault sealed")), "the function failed"],
    [
      "returns nothing",
      () => undefined as never,
      "expected a list of at least one secret, a function, or an object with the function byTenant, got undefined",
    ],
    ["returns an empty list", () => [], "at least one secret"],
    [
      "returns a list with a gap",
      () => Array(1) as string[],
      "secrets[0]: expected text that starts with whsec_, got undefined",
    ],
    ["returns a wrong secret", async () => [`${secretA}\n`], "secrets[0]: ends with a newline"],
  ])("are an outage of the receiver when the function %s", async (_, secrets, message) => {
    const verifier = createVerifier({ secrets, clock: stoppedClock() });
    const rejection = await rejectionOf(verifier.verify(byB.body, byB.headers));
    expect(rejection).toMatchObject({ code: "SECRETS_UNAVAILABLE", status: 503 });
    expect(rejection.message).toContain(message);
    expect(rejection.cause).toBeInstanceOf(Error);
  });

  it("leave no timer when the function resolves", async () => {
    const clock = stoppedClock();
    const verifier = createVerifier({ secrets: async () => [secretB], clock });
    await verifier.verify(byB.body, byB.headers);
    expect(clock.pending().timers).toBe(0);
  });
});

describe("what a verifier returns", () => {
  const clock = stoppedClock();
  const { headers, body: raw } = signDelivery({ body, timestampSeconds: nowSeconds, id: "msg_1" });

  it("secrets are found by URL and headers, and the tenant whose they are is returned", async () => {
    const requests: unknown[] = [];
    const byTenant = ({
      path,
      headers: received,
    }: {
      path: string;
      headers: { get(name: string): unknown };
    }) => {
      requests.push([path, received.get("webhook-id")]);
      return { id: "acme", workspaceId: "workspace-1", secrets: [secretA] };
    };
    const verifier = createVerifier({ secrets: { byTenant }, clock });
    const tenant = { id: "acme", workspaceId: "workspace-1" };
    expect(await verifier.verify(raw, headers, { url: "/hooks/acme" })).toMatchObject({
      id: "msg_1",
      tenant,
    });
    await verifier.verifyBody(raw, verifier.readHeaders(headers));
    expect(requests).toEqual([
      ["/hooks/acme", "msg_1"],
      ["/", undefined],
    ]);
  });

  it("a delivery of no known tenant is rejected with its id", async () => {
    const verifier = createVerifier({ secrets: { byTenant: () => undefined }, clock });
    const rejection = await rejectionOf(verifier.verify(raw, headers));
    expect(rejection).toMatchObject({ code: "TENANT_UNKNOWN", webhookId: "msg_1" });
  });

  it("a delivery without a tenant has no such field", async () => {
    const verifier = createVerifier({ secrets: [secretA], clock });
    expect(Object.keys(await verifier.verify(raw, headers))).toEqual([
      "id",
      "timestamp",
      "body",
      "secretIndex",
    ]);
  });
});
