import { describe, expect, test } from "vitest";
import { hashOf, parseHash, withQuery } from "../../../mock-server/inspector/page/src/address.ts";
import { describePlan } from "../../../mock-server/inspector/page/src/fault-words.ts";
import {
  formatBody,
  formatDuration,
  formatHex,
  formatRelative,
  formatTime,
  shortId,
  toCurl,
} from "../../../mock-server/inspector/page/src/format.ts";
import { readPastedRequest } from "../../../mock-server/inspector/page/src/pasted-request.ts";

describe("times", () => {
  test("are told in UTC, whatever the reader's zone", () => {
    expect(formatTime(Date.UTC(2026, 0, 15, 12, 0, 7, 999))).toBe("2026-01-15 12:00:07");
  });

  test.each([
    [12.4, "12 ms"],
    [1_440, "1.4 s"],
    [60_000, "1 min"],
    [295_000, "4 min 55 s"],
    [3 * 86_400_000 + 3_600_000 + 60_000, "3 d 1 h"],
  ])("of %d ms are told as %s", (durationMs, words) => {
    expect(formatDuration(durationMs)).toBe(words);
  });

  test("are told from now on", () => {
    expect(formatRelative(1_000, 61_000)).toBe("1 min ago");
    expect(formatRelative(61_000, 1_000)).toBe("in 1 min");
    expect(formatRelative(1_000, 1_300)).toBe("now");
  });
});

describe("texts", () => {
  test("that are JSON are indented, others are left alone", () => {
    expect(formatBody('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(formatBody('{"a":')).toBe('{"a":');
  });

  test("are dumped by the byte, not by the character", () => {
    expect(formatHex("aü\n")).toBe(`0000  61 c3 bc 0a ${" ".repeat(36)} a···`);
    expect(formatHex("x".repeat(5_000)).split("\n").at(-1)).toBe("… 904 bytes more");
  });

  test("of ids keep their end, where they differ", () => {
    expect(shortId("019bc186-de00-7000-8001-0e0d7cdeef41")).toBe("…7cdeef41");
    expect(shortId("short")).toBe("short");
  });
});

describe("a delivery as a curl command", () => {
  const headers = {
    host: "x",
    "content-length": "9",
    "webhook-id": "msg_1",
    "webhook-signature": "v1,a= v1,b=",
  };
  const body = `{"it":"it's"}`;

  test("leaves out what curl sets itself, and survives the shell", () => {
    expect(toCurl("https://a.example/b?c='d'", headers, body)).toBe(
      [
        `curl -X POST`,
        `'https://a.example/b?c='\\''d'\\'''`,
        `-H 'webhook-id: msg_1'`,
        `-H 'webhook-signature: v1,a= v1,b='`,
        `--data-binary '{"it":"it'\\''s"}'`,
      ].join(" \\\n  "),
    );
  });

  test("can be pasted back", () => {
    expect(readPastedRequest(toCurl("https://a.example", headers, body))).toEqual({
      id: "msg_1",
      timestamp: "",
      signature: "v1,a= v1,b=",
      body,
    });
  });
});

describe("a pasted request", () => {
  test("may be raw HTTP, with a body of several paragraphs", () => {
    const text =
      "POST /hooks HTTP/1.1\r\nWebhook-Id: msg_1\r\nWebhook-Timestamp: 1768478554\r\nWebhook-Signature: v1,abc=\r\n\r\n{\r\n\r\n}";
    expect(readPastedRequest(text)).toEqual({
      id: "msg_1",
      timestamp: "1768478554",
      signature: "v1,abc=",
      body: "{\r\n\r\n}",
    });
  });

  test("may be headers printed as an object", () => {
    const text = `{ 'webhook-id': 'msg_1', "webhook-timestamp": "1768478554", 'webhook-signature': 'v1,abc=' }`;
    expect(readPastedRequest(text)).toEqual({
      id: "msg_1",
      timestamp: "1768478554",
      signature: "v1,abc=",
      body: "",
    });
  });

  test("that is none leaves everything empty", () => {
    expect(readPastedRequest("hello")).toEqual({ id: "", timestamp: "", signature: "", body: "" });
  });
});

describe("an address of the page", () => {
  test("keeps place, choice and filters", () => {
    const hash = hashOf("deliveries", "a/b %", { status: "failed", event: "" });
    expect(hash).toBe("#/deliveries/a%2Fb%20%25?status=failed");
    expect(parseHash(hash)).toEqual({ place: "deliveries", id: "a/b %", filter: { status: "failed" } });
  });

  test("leads to the overview when it says nothing, and is never an error", () => {
    expect(parseHash("")).toEqual({ place: "overview", id: null, filter: {} });
    expect(parseHash("#/tasks/100%")).toEqual({ place: "tasks", id: "100%", filter: {} });
  });

  test("names only the parameters that say something", () => {
    expect(withQuery("/tasks", { status: "", limit: "5" })).toBe("/tasks?limit=5");
    expect(withQuery("/tasks", { status: "" })).toBe("/tasks");
  });
});

test("a fault plan is told line by line, without what is used up", () => {
  const unavailable = { kind: "status", status: 503, retryAfterSeconds: 1 } as const;
  const lines = describePlan({
    api: [
      { instructions: [] },
      { operation: "me", instructions: [unavailable, unavailable, { kind: "html" }] },
    ],
    deliveries: [
      { endpointId: "e1", chances: [{ probability: 0.15, fault: { kind: "delay", delayMs: 90_000 } }] },
    ],
  });
  expect(lines).toEqual([
    { side: "api", rule: 1, what: "HTTP 503, retry after 1 s", often: "the next 2 times", where: "me" },
    { side: "api", rule: 1, what: "an HTML page", often: "then once", where: "me" },
    { side: "deliveries", rule: 0, what: "1 min 30 s late", often: "15 % of the time", where: "e1" },
  ]);
});
