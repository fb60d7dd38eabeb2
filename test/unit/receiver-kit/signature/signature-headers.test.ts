import { type WebhookHeaders, WebhookRejectedError } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { secretsPerEndpointMax } from "../../../../mock-server/settings/settings.ts";
import { findHeader, readSignatureHeaders } from "../../../../receiver-kit/signature/signature-headers.ts";

const mac = Buffer.alloc(32, 7).toString("base64");
const good = { "webhook-id": "msg_1", "webhook-timestamp": "1772357400", "webhook-signature": `v1,${mac}` };

function refusalOf(headers: unknown): WebhookRejectedError {
  try {
    readSignatureHeaders(headers as WebhookHeaders);
  } catch (error) {
    if (error instanceof WebhookRejectedError) return error;
    throw error;
  }
  throw new Error("expected the headers to be rejected");
}

describe("readSignatureHeaders", () => {
  const read = { id: "msg_1", timestamp: 1772357400, signedPrefix: "msg_1.1772357400.", signatures: [mac] };

  it.each<[string, WebhookHeaders]>([
    ["a plain record", good],
    [
      "a record in other case",
      { "Webhook-Id": "msg_1", "WEBHOOK-TIMESTAMP": "1772357400", "webhook-Signature": `v1,${mac}` },
    ],
    ["a record of lists", Object.fromEntries(Object.entries(good).map(([name, value]) => [name, [value]]))],
    ["fetch headers", new Headers(good)],
    ["a map", new Map(Object.entries(good)) as unknown as Headers],
    [
      "Node's flat list",
      [
        "Host",
        "a",
        "Webhook-Id",
        "msg_1",
        "webhook-timestamp",
        "1772357400",
        "webhook-signature",
        `v1,${mac}`,
      ],
    ],
    [
      "headers of the same length as ours beside them",
      { ...good, connection: "keep-alive", "sec-fetch-storage": "x" },
    ],
  ])("reads %s", (_, headers) => {
    expect(readSignatureHeaders(headers)).toEqual(read);
  });

  it.each(Object.keys(good))("rejects headers without %s", (name) => {
    const refusal = refusalOf({ ...good, [name]: undefined });
    expect(refusal).toMatchObject({ code: "HEADER_MISSING", status: 400 });
    expect(refusal.message).toContain(name);
  });

  it.each(Object.entries(good))("rejects a repeated %s, also when both are equal", (name, value) => {
    const flat = [...Object.entries(good).flat(), name.toUpperCase(), value];
    expect(refusalOf(flat)).toMatchObject({ code: "HEADER_REPEATED", status: 400 });
    expect(refusalOf({ ...good, [name]: [value, value] }).code).toBe("HEADER_REPEATED");
    expect(refusalOf({ ...good, [name.toUpperCase()]: value }).code).toBe("HEADER_REPEATED");
  });

  it.each(Object.entries(good))("rejects %s when fetch has joined two of them", (name, value) => {
    const headers = new Headers(good);
    headers.append(name, value);
    expect(refusalOf(headers).status).toBe(400);
  });

  const getting = Object.assign(() => {}, { get: () => "x" });
  it.each([undefined, null, "webhook-id: x", 7, true, () => 1, getting, [], {}, [[]], [null, null]])(
    "reports missing headers for %s in place of headers",
    (headers) => {
      expect(refusalOf(headers).code).toBe("HEADER_MISSING");
    },
  );

  it.each([
    ["one character", "a"],
    ["255 characters", "a".repeat(255)],
    ["every permitted kind", "aZ09._:~+/=@-"],
    ["a short number after a dot", "msg.1"],
    ["a long number after an underscore", "msg_1772357400"],
  ])("accepts an id of %s", (_, id) => {
    expect(readSignatureHeaders({ ...good, "webhook-id": id }).id).toBe(id);
  });

  it.each([
    ["empty", ""],
    ["256 characters", "a".repeat(256)],
    ["a space", "msg 1"],
    ["a newline at the end", "msg_1\n"],
    ["letters beyond ASCII", "Größe"],
    ["a NUL", "msg\0"],
    ["a number sign, as events found by reconciling have", "reconcile#1"],
  ])("rejects an id with %s", (_, id) => {
    expect(refusalOf({ ...good, "webhook-id": id })).toMatchObject({
      code: "ID_MALFORMED",
      webhookId: undefined,
    });
  });

  it.each([
    "",
    "0",
    "1772357400x",
    "+1772357400",
    "01772357400",
    "1.7723574e9",
    "1772357400000",
    "NaN",
    "１７７２３５７４００",
    "1772357400\n",
  ])("rejects the timestamp %j", (timestamp) => {
    const refusal = refusalOf({ ...good, "webhook-timestamp": timestamp });
    expect(refusal).toMatchObject({ code: "TIMESTAMP_MALFORMED", webhookId: "msg_1" });
  });

  it.each([
    ["ten", 10],
    ["as many as the mock sends at most", 1 + secretsPerEndpointMax],
    ["as many as fit into 8,192 characters", 170],
  ])("accepts %s signatures", (_, count) => {
    const header = Array.from({ length: count }, () => `v1,${mac}`).join(" ");
    expect(readSignatureHeaders({ ...good, "webhook-signature": header }).signatures).toHaveLength(count);
  });

  it("ignores signatures of other versions", () => {
    const header = `v1a,${mac.slice(0, 43)}${mac} v2,abcd v1,${mac} V1,${mac}`;
    expect(readSignatureHeaders({ ...good, "webhook-signature": header }).signatures).toEqual([mac]);
  });

  it.each([
    ["empty", ""],
    ["more signatures than 8,192 characters have", Array.from({ length: 171 }, () => `v1,${mac}`).join(" ")],
    ["more than 8,192 characters", `v1,${"A".repeat(8_190)}`],
    ["no version", mac],
    ["a version alone", "v1"],
    ["an empty signature", "v1,"],
    ["a third part", `v1,${mac},junk`],
    ["a comma between signatures", `v1,${mac},v1,${mac}`],
    ["a comma and a space between signatures", `v1,${mac}, v1,${mac}`],
    ["padding in the middle", "v1,AA==AA=="],
  ])("rejects a signature header with %s", (_, signature) => {
    const refusal = refusalOf({ ...good, "webhook-signature": signature });
    expect(refusal).toMatchObject({ code: "SIGNATURE_MALFORMED", status: 400, webhookId: "msg_1" });
  });

  it("puts no rejected value into the message: it could be a secret in the wrong header", () => {
    const pasted = "whsec_pasted/by/mistake whsec_again";
    for (const name of Object.keys(good)) {
      expect(refusalOf({ ...good, [name]: pasted }).message).not.toContain("pasted");
    }
  });

  it("accepts a signature header of 8,192 characters", () => {
    const longest = `v1,${"A".repeat(8_189)}`;
    expect(readSignatureHeaders({ ...good, "webhook-signature": longest }).signatures).toHaveLength(1);
  });

  it("ignores a name without a value at the end of a flat list", () => {
    expect(readSignatureHeaders([...Object.entries(good).flat(), "webhook-id"]).id).toBe("msg_1");
  });
});

describe("findHeader", () => {
  const lists = { host: "a", Traceparent: "b", accept: ["c"], "set-cookie": ["d", "e"], via: undefined };
  const flat = ["Host", "a", "TRACEPARENT", "b", "accept", "c", "set-cookie", "d", "Set-Cookie", "e"];

  it.each<[string, WebhookHeaders]>([
    ["a record", lists],
    ["a flat list", flat],
    [
      "fetch headers",
      new Headers([
        ["host", "a"],
        ["Traceparent", "b"],
        ["accept", "c"],
      ]),
    ],
  ])("finds a header of %s by its name in any case", (_, headers) => {
    const found = ["host", "HOST", "traceparent", "Accept", "absent", "hose", "via"].map((name) =>
      findHeader(headers, name),
    );
    expect(found).toEqual(["a", "a", "b", "c", undefined, undefined, undefined]);
  });

  it.each<[string, WebhookHeaders]>([
    ["a record", lists],
    ["a record in two cases", { "set-cookie": "d", "Set-Cookie": "e" }],
    ["a flat list", flat],
  ])("rejects a header that %s has twice", (_, headers) => {
    const finding = () => findHeader(headers, "set-cookie");
    expect(finding).toThrow("set-cookie: expected one header, got several");
    expect(finding).toThrow(expect.objectContaining({ code: "HEADER_REPEATED" }));
  });

  it("reads no value of a flat list as a name, and no name without a value", () => {
    expect(findHeader(["host", "accept", "accept"], "accept")).toBeUndefined();
    expect(findHeader(["accept", "host", "host", "a"], "host")).toBe("a");
  });

  it("ignores what is no text", () => {
    expect(findHeader({ host: 5 } as never, "host")).toBeUndefined();
    expect(findHeader([5, "a", "host", 5] as never, "host")).toBeUndefined();
    expect(findHeader({ host: [5, "a"] } as never, "host")).toBe("a");
  });
});
