import { describe, expect, it } from "vitest";
import { readPastedRequest } from "../../../../../../mock-server/inspector/page/src/signature/pasted-request.ts";
import {
  formatBody,
  formatDuration,
  formatExact,
  formatHex,
  formatRange,
  formatRelative,
  formatReset,
  formatTime,
  formatTimeNear,
  shortId,
  toCurl,
  withDuration,
} from "../../../../../../mock-server/inspector/page/src/text/format.ts";

describe("formatTime", () => {
  it("shows UTC, whatever the zone of the browser", () => {
    expect(formatTime(Date.UTC(2026, 0, 15, 12, 0, 7, 999))).toBe("2026-01-15 12:00:07");
  });

  it("shows a text instead of throwing for a value that is no time", () => {
    expect(formatTime("no time")).toBe("unknown time");
    expect(formatExact(undefined as never)).toBe("unknown time");
    expect(formatTimeNear("no time", 0)).toBe("unknown time");
  });
});

describe("formatTimeNear", () => {
  it("shows the date of another day only", () => {
    const noonMs = Date.UTC(2026, 0, 15, 12);
    expect(formatTimeNear(noonMs - 60_000, noonMs)).toBe("11:59:00");
    expect(formatTimeNear(noonMs - 86_400_000, noonMs)).toBe("01-14 12:00:00");
  });
});

it("formatExact has the milliseconds", () => {
  expect(formatExact("2026-01-15T12:00:00.007Z")).toBe("2026-01-15 12:00:00.007 UTC");
});

describe("formatRange", () => {
  it("has dates when the two differ, and an open end", () => {
    const [noon, later, nextDay] = ["2026-01-15T12:00:00Z", "2026-01-15T12:05:00Z", "2026-01-16T12:00:00Z"];
    expect(formatRange(noon, later)).toBe("12:00:00 – 12:05:00");
    expect(formatRange(noon, nextDay)).toBe("01-15 12:00:00 – 01-16 12:00:00");
    expect(formatRange(noon, undefined)).toBe("12:00:00 – …");
    expect(formatRange("no time", later)).toBe("unknown time – 01-15 12:05:00");
  });
});

describe("formatDuration", () => {
  it.each([
    [12.4, "12 ms"],
    [1_440, "1.4 s"],
    [60_000, "1 min"],
    [295_000, "4 min 55 s"],
    [3 * 86_400_000 + 3_600_000 + 60_000, "3 d 1 h"],
  ])("shows %d ms as %s", (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});

describe("formatRelative", () => {
  it("shows how long ago, or in how long", () => {
    expect(formatRelative(1_000, 61_000)).toBe("1 min ago");
    expect(formatRelative(61_000, 1_000)).toBe("in 1 min");
    expect(formatRelative(1_000, 1_300)).toBe("now");
  });
});

describe("formatReset", () => {
  it("shows when a window ends, and never that one ended in the past", () => {
    expect(formatReset(61_000, 1_000)).toBe("frees in 1 min");
    expect(formatReset(1_000, 1_000)).toBe("frees now");
    expect(formatReset(1_000, 5_300)).toBe("frees now");
  });
});

describe("withDuration", () => {
  it("leaves out a duration of no time, which every response on a virtual clock has", () => {
    expect(withDuration(204, " in", 12)).toBe("204 in 12 ms");
    expect(withDuration(204, " in", 0)).toBe("204");
    expect(withDuration(204, " in", 0.3)).toBe("204");
  });
});

describe("formatBody", () => {
  it("indents JSON and leaves other text unchanged", () => {
    expect(formatBody('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(formatBody('{"a":')).toBe('{"a":');
    expect(formatBody("[ ]")).toBe("[]");
  });

  it("changes no value: long numbers, equal keys and escapes stay as they are written", () => {
    const text = '{"id":12345678901234567890,"id":1.0,"__proto__":["\\u00e9\\"}",{}, -1e5,true,null]}';
    expect(formatBody(text)).toBe(
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
    expect(formatBody(deep)).toBe(deep);
  });
});

describe("formatHex", () => {
  it("dumps bytes, not characters", () => {
    expect(formatHex("aü\n")).toBe(`0000  61 c3 bc 0a ${" ".repeat(36)} a···`);
    expect(formatHex("x".repeat(5_000)).split("\n").at(-1)).toBe("… 904 bytes more");
  });
});

describe("shortId", () => {
  it("keeps the end of an id, where ids differ", () => {
    expect(shortId("019bc186-de00-7000-8001-0e0d7cdeef41")).toBe("…7cdeef41");
    expect(shortId("short")).toBe("short");
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
    expect(toCurl({ url: "https://a.example/b?c='d'", headers, body })).toBe(
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
    const command = toCurl({ url: "https://a.example/{x,y}?id=[1-3]", headers: {}, body: "@file" });
    expect(command).toMatch(/^curl -g /);
    expect(command).toContain("--data-raw '@file'");
  });

  it("writes what readPastedRequest reads", () => {
    expect(readPastedRequest(toCurl({ url: "https://a.example", headers, body }))).toEqual({
      id: "msg_1",
      timestamp: "",
      signature: "v1,a= v1,b=",
      body,
    });
  });
});
