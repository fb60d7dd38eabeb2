import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { createAnswerReader } from "../../../../receiver-kit/audit/target/response-reader.ts";
import { schemeByName } from "../../../../receiver-kit/audit/target/scheme.ts";

const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;

/** Feeds the text in pieces of `size` bytes and returns status and body of what came out. */
function read(text: string, size = text.length) {
  const reader = createAnswerReader();
  const bytes = Buffer.from(text, "latin1");
  const answers = [];
  for (let at = 0; at < bytes.length; at += size) answers.push(...reader.feed(bytes.subarray(at, at + size)));
  const last = reader.end();
  return [...answers, ...(last ? [last] : [])].map(({ status, body }) => [status, body.toString()]);
}

const counted = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const chunked =
  "HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n";
const empty = "HTTP/1.1 204 No Content\r\n\r\n";
const interim = "HTTP/1.1 100 Continue\r\n\r\n";
const untilClose = "HTTP/1.0 500 Oops\r\n\r\nhello";

describe("the reader of answers", () => {
  it.each([1, 2, 7, 1000])("reads several answers after each other, in pieces of %i bytes", (size) => {
    expect(read(counted + chunked + interim + empty + untilClose, size)).toEqual([
      [200, "hello"],
      [400, "hello"],
      [204, ""],
      [500, "hello"],
    ]);
  });

  it("gives nothing for an answer that was cut off", () => {
    expect(read(counted.slice(0, -1))).toEqual([]);
    expect(read(chunked.slice(0, -2))).toEqual([]);
    expect(read("HTTP/1.1 200 OK\r\nConte")).toEqual([]);
  });

  it("keeps no more than the beginning of a long body", () => {
    const reader = createAnswerReader();
    const [answer] = reader.feed(
      Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${"x".repeat(100_000)}`),
    );
    expect(answer?.body.length).toBe(64 * 1024);
  });

  it.each([
    ["another protocol", "SSH-2.0-example\r\n"],
    ["a status line without a status", "HTTP/1.1 OK\r\n\r\n"],
    ["a chunk without a size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
    ["a head without an end", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(300_000)}`],
  ])("refuses %s", (_, text) => {
    expect(() => read(text)).toThrow();
  });
});

describe("the schemes of signing", () => {
  const content = { id: "msg_1", timestamp: "1700000000", body: Buffer.from('{"a":"é"}') };

  it("sign alike by the public library and by hand", () => {
    const scheme = schemeByName("standard-webhooks");
    expect(scheme.sign(content, secret)).toBe(scheme.signWithKey(content, scheme.keyOf(secret)));
    const library = new Webhook(secret).sign("msg_1", new Date(1_700_000_000_000), '{"a":"é"}');
    expect(scheme.sign(content, secret)).toBe(library);
  });

  it("sign bytes that are not text as they are, which the public library cannot", () => {
    const scheme = schemeByName("standard-webhooks");
    const bytes = { ...content, body: Buffer.from([0xff]) };
    const replaced = { ...content, body: Buffer.from("\uFFFD") };
    expect(scheme.sign(bytes, secret)).not.toBe(scheme.sign(replaced, secret));
  });

  it("sign the body alone, in hexadecimal, in the github scheme", () => {
    const scheme = schemeByName("github");
    expect(scheme.sign(content, "key")).toMatch(/^sha256=[0-9a-f]{64}$/);
    expect(scheme.sign({ ...content, id: "msg_2" }, "key")).toBe(scheme.sign(content, "key"));
  });
});
