import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import {
  diagnose,
  readPastedRequest,
  type Secret,
  type SignatureInput,
} from "../../../../../mock-server/inspector/page/src/signature.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const otherSecret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const signedAtSeconds = 1_767_225_600;
const body = '{"b": 1,"a":"Grüße"}';
const current: Secret = { label: "the current secret", secret, state: "current" };

function inputWith(
  changes: Partial<SignatureInput> & { signWith?: string; signedBody?: string } = {},
): SignatureInput {
  const { signWith = secret, signedBody = body, ...rest } = changes;
  return {
    id: "msg_1",
    timestamp: String(signedAtSeconds),
    signature: new Webhook(signWith).sign("msg_1", new Date(signedAtSeconds * 1000), signedBody),
    body,
    secrets: [current],
    nowSeconds: signedAtSeconds + 10,
    toleranceSeconds: 300,
    ...rest,
  };
}

const codes = async (changes: Parameters<typeof inputWith>[0]) =>
  (await diagnose(inputWith(changes))).findings.map(({ code }) => code);

const raw = (text: string) => `whsec_${Buffer.from(text).toString("base64")}`;

describe("diagnose", () => {
  it("finds nothing wrong with a signature of standardwebhooks", async () => {
    expect(await diagnose(inputWith())).toEqual({
      valid: true,
      signedPrefix: `msg_1.${signedAtSeconds}.`,
      bodyBytes: Buffer.byteLength(body),
      checks: [{ label: "the current secret", state: "current", fits: true }],
      findings: [],
    });
  });

  it("says that a receiver with its own clock rejects a valid signature of a distant virtual time", async () => {
    const realNowSeconds = signedAtSeconds + 301;
    const { valid, findings } = await diagnose(inputWith({ realNowSeconds }));
    expect([valid, findings.map(({ code }) => code)]).toEqual([true, ["TIMESTAMP_VIRTUAL"]]);
    expect(findings[0]?.title).toContain("signed 5 min 1 s away from now");
    expect(await codes({ realNowSeconds: signedAtSeconds + 299 })).toEqual([]);
    expect(await codes({ realNowSeconds, nowSeconds: realNowSeconds })).toEqual(["TIMESTAMP_TOO_OLD"]);
  });

  it("accepts one valid signature of several, by a secret in its grace period", async () => {
    const good = inputWith({ signWith: otherSecret });
    const secrets: Secret[] = [current, { label: "the old secret", secret: otherSecret, state: "grace" }];
    const diagnosis = await diagnose({ ...good, signature: `v1,AAAA ${good.signature}`, secrets });
    expect([diagnosis.valid, diagnosis.checks.map(({ fits }) => fits)]).toEqual([true, [false, true]]);
  });

  it.each<[string, Parameters<typeof inputWith>[0]]>([
    [
      "BODY_REWRITTEN",
      { body: JSON.stringify(JSON.parse(body)), signedBody: JSON.stringify(JSON.parse(body), null, 2) },
    ],
    [
      "BODY_REWRITTEN",
      { body: JSON.stringify(JSON.parse(body), null, 2), signedBody: JSON.stringify(JSON.parse(body)) },
    ],
    ["BODY_TRAILING_NEWLINE", { body: `${body}\n` }],
    ["BODY_NEWLINE_LOST", { signedBody: `${body}\n` }],
    ["BODY_WHITESPACE", { body: `  ${body}` }],
    ["BODY_LINE_ENDS", { body: "{\r\n}", signedBody: "{\n}" }],
    ["BODY_BYTE_ORDER_MARK", { body: `\uFEFF${body}` }],
    ["SECRET_WHITESPACE", { secrets: [{ ...current, secret: `${secret} ` }] }],
    ["SECRET_PREFIX_LEFT_ON", { signWith: raw(secret) }],
    ["SECRET_NOT_DECODED", { signWith: raw(secret.slice("whsec_".length)) }],
    ["TIMESTAMP_WHITESPACE", { timestamp: ` ${signedAtSeconds}` }],
    ["SECRET_EXPIRED", { secrets: [{ ...current, state: "expired" }] }],
    ["SECRET_OR_BODY_DIFFERS", { signWith: otherSecret }],
    ["SECRET_OR_BODY_DIFFERS", { body: body.replace("1", "2") }],
    ["NO_SECRET", { secrets: [] }],
    ["TIMESTAMP_TOO_OLD", { nowSeconds: signedAtSeconds + 301 }],
    ["TIMESTAMP_TOO_NEW", { nowSeconds: signedAtSeconds - 301 }],
    ["ID_MISSING", { id: "" }],
    ["SIGNATURE_MISSING", { signature: "" }],
  ])("reports %s", async (code, changes) => {
    expect(await codes(changes)).toContain(code);
  });

  it("reports a timestamp in milliseconds", async () => {
    expect(await codes({ timestamp: `${signedAtSeconds}000` })).toEqual([
      "TIMESTAMP_MALFORMED",
      "TIMESTAMP_MILLISECONDS",
    ]);
  });

  it("reports a signature in hex and one without its version", async () => {
    const [, encoded = ""] = inputWith().signature.split(",");
    expect(await codes({ signature: Buffer.from(encoded, "base64").toString("hex") })).toEqual([
      "SIGNATURE_HEX",
    ]);
    expect(await codes({ signature: encoded })).toEqual(["SIGNATURE_LIST"]);
  });
});

describe("diagnose of a delivery that the mock sent", () => {
  const sentTime = String(signedAtSeconds);
  const right = inputWith();
  const attempt = { timestamp: sentTime, signature: right.signature, body, faults: [] as string[] };
  const pasted: Secret = { label: "the pasted secret", secret: otherSecret, state: "current" };
  const findingOf = async (changes: Partial<SignatureInput>) => {
    const { findings } = await diagnose({ ...right, secrets: [pasted], sent: [attempt], ...changes });
    return findings[0];
  };

  it("reports a secret of another endpoint when all else is unchanged", async () => {
    expect((await findingOf({}))?.code).toBe("SECRET_WRONG");
  });

  it("reports at which byte the body was altered", async () => {
    const finding = await findingOf({ body: body.replace("Grüße", "Grüsse"), secrets: [current] });
    expect(finding?.code).toBe("BODY_ALTERED");
    expect(finding?.title).toContain('at byte 17 the mock sent "ße\\"}", received "sse\\"}"');
  });

  it("reports a body that was cut off, and one that did not arrive", async () => {
    const cut = await findingOf({ body: body.slice(0, 8), secrets: [current] });
    expect(cut?.title).toContain("received the end of the body");
    const empty = await findingOf({ body: "", secrets: [current] });
    expect(empty?.title).toContain("received an empty body");
  });

  it("reports a timestamp or signature that was not sent", async () => {
    expect((await findingOf({ timestamp: "1767225601", nowSeconds: 1_767_225_601 }))?.code).toBe(
      "TIMESTAMP_ALTERED",
    );
    expect((await findingOf({ signature: "v1,AAAA", secrets: [current] }))?.code).toBe("SIGNATURE_ALTERED");
  });

  it("reports a fault that altered the attempt", async () => {
    const sent = [{ ...attempt, faults: ["wrong-signature"] }];
    expect((await findingOf({ sent }))?.code).toBe("ALTERED_BY_FAULT");
  });

  it("reports a usual mistake first", async () => {
    const spaced: Secret = { label: "the pasted secret", secret: `${secret}\n`, state: "current" };
    expect((await findingOf({ secrets: [spaced] }))?.code).toBe("SECRET_WHITESPACE");
  });

  it("reports SECRET_OR_BODY_DIFFERS for a delivery that the mock did not send", async () => {
    expect((await findingOf({ sent: [] }))?.code).toBe("SECRET_OR_BODY_DIFFERS");
  });
});

describe("readPastedRequest", () => {
  const rawHttp =
    "POST /hooks HTTP/1.1\r\nWebhook-Id: msg_1\r\nWebhook-Timestamp: 1768478554\r\nWebhook-Signature: v1,abc=\r\n\r\n{\r\n\r\n}";
  const printed = `{ 'webhook-id': 'msg_1', "webhook-timestamp": "1768478554", 'webhook-signature': 'v1,abc=' }`;
  it.each([
    ["raw HTTP with a body of several paragraphs", rawHttp, "{\r\n\r\n}"],
    ["headers printed as an object", printed, ""],
  ])("reads %s", (_, text, body) => {
    const expected = { id: "msg_1", timestamp: "1768478554", signature: "v1,abc=", body };
    expect(readPastedRequest(text)).toEqual(expected);
  });

  it("returns empty fields for other text", () => {
    expect(readPastedRequest("hello")).toEqual({ id: "", timestamp: "", signature: "", body: "" });
  });
});
