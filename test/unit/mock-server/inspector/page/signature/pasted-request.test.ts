import { describe, expect, it } from "vitest";
import { readPastedRequest } from "../../../../../../mock-server/inspector/page/src/signature/pasted-request.ts";

describe("readPastedRequest", () => {
  it("reads raw HTTP with a body of several paragraphs", () => {
    const text =
      "POST /hooks HTTP/1.1\r\nWebhook-Id: msg_1\r\nWebhook-Timestamp: 1768478554\r\nWebhook-Signature: v1,abc=\r\n\r\n{\r\n\r\n}";
    expect(readPastedRequest(text)).toEqual({
      id: "msg_1",
      timestamp: "1768478554",
      signature: "v1,abc=",
      body: "{\r\n\r\n}",
    });
  });

  it("reads headers printed as an object", () => {
    const text = `{ 'webhook-id': 'msg_1', "webhook-timestamp": "1768478554", 'webhook-signature': 'v1,abc=' }`;
    expect(readPastedRequest(text)).toEqual({
      id: "msg_1",
      timestamp: "1768478554",
      signature: "v1,abc=",
      body: "",
    });
  });

  it("returns empty fields for other text", () => {
    expect(readPastedRequest("hello")).toEqual({ id: "", timestamp: "", signature: "", body: "" });
  });
});
