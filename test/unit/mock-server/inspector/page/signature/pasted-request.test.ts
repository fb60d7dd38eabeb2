import { describe, expect, it } from "vitest";
import { readPastedRequest } from "../../../../../../mock-server/inspector/page/src/signature/pasted-request.ts";

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
