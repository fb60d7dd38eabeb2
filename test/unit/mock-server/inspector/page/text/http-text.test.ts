import { describe, expect, it } from "vitest";
import { readPastedRequest } from "../../../../../../mock-server/inspector/page/src/signature/pasted-request.ts";
import * as format from "../../../../../../mock-server/inspector/page/src/text/http-text.ts";

describe("a time limit or a duration of a request", () => {
  it.each<[what: string, shown: () => string, expected: string]>([
    ["when a window ends", () => format.formatReset(61_000, 1_000), "frees in 1 min"],
    ["that a window ends now", () => format.formatReset(1_000, 1_000), "frees now"],
    ["never that a window ended in the past", () => format.formatReset(1_000, 5_300), "frees now"],
    ["how long a response took", () => format.withDuration(204, " in", 12), "204 in 12 ms"],
    ["no duration on a virtual clock", () => format.withDuration(204, " in", 0), "204"],
    ["no duration of less than a millisecond", () => format.withDuration(204, " in", 0.3), "204"],
  ])("shows %s", (_, shown, expected) => {
    expect(shown()).toBe(expected);
  });
});

describe("formatBody", () => {
  it("indents JSON and leaves other text unchanged", () => {
    expect(format.formatBody('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(format.formatBody('{"a":')).toBe('{"a":');
    expect(format.formatBody("[ ]")).toBe("[]");
  });

  it("changes no value: long numbers, equal keys and escapes stay as they are written", () => {
    const text = '{"id":12345678901234567890,"id":1.0,"__proto__":["\\u00e9\\"}",{}, -1e5,true,null]}';
    expect(format.formatBody(text)).toBe(
      [
        "{",
        '  "id": 12345678901234567890,',
        '  "id": 1.0,',
        '  "__proto__": [',
        '    "\\u00e9\\"}",',
        "    {},",
        "    -1e5,",
        "    true,",
        "    null",
        "  ]",
        "}",
      ].join("\n"),
    );
  });

  it("leaves JSON alone that is nested a thousand levels deep", () => {
    const deep = `${"[".repeat(1_000)}${"]".repeat(1_000)}`;
    expect(format.formatBody(deep)).toBe(deep);
  });
});

describe("toCurl", () => {
  const headers = {
    host: "x",
    "content-length": "9",
    "webhook-id": "msg_1",
    "webhook-signature": "v1,a= v1,b=",
  };
  const body = `{"it":"it's"}`;

  it("leaves out headers that curl sets, and quotes for the shell", () => {
    expect(format.toCurl({ url: "https://a.example/b?c='d'", headers, body })).toBe(
      [
        `curl -g -X POST`,
        `'https://a.example/b?c='\\''d'\\'''`,
        `-H 'webhook-id: msg_1'`,
        `-H 'webhook-signature: v1,a= v1,b='`,
        `--data-raw '{"it":"it'\\''s"}'`,
      ].join(" \\\n  "),
    );
  });

  it("takes brackets of the URL and an @ at the start of the body as they are", () => {
    const command = format.toCurl({ url: "https://a.example/{x,y}?id=[1-3]", headers: {}, body: "@file" });
    expect(command).toMatch(/^curl -g /);
    expect(command).toContain("--data-raw '@file'");
  });

  it("writes what readPastedRequest reads", () => {
    expect(readPastedRequest(format.toCurl({ url: "https://a.example", headers, body }))).toEqual({
      id: "msg_1",
      timestamp: "",
      signature: "v1,a= v1,b=",
      body,
    });
  });
});
