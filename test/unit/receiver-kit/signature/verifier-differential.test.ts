// Two implementations decide about the same deliveries: the receiver's verifier and the `standardwebhooks` package. Each
// listed difference has an example here; test/unit/differential finds those that are not listed.

import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createVerifier, type WebhookHeaders } from "workspace-tasks/receiver-kit";
import { secretA, signBytes } from "../../../support/signed-delivery.ts";
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
