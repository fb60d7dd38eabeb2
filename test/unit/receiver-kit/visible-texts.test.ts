import { describe, expect, it, vi } from "vitest";
import { renderRow, renderRows } from "../../../receiver-kit/cli/inbox-report.ts";
import { consoleLogger } from "../../../receiver-kit/logger.ts";

const hostile = "\u001b[31m\u202e\nFORGED: all is well\n    at FORGED (file.js:1:1)";
const layout = { width: 200, paint: (text: string) => text, nowMs: 0 };
const row = {
  seq: 1,
  id: "msg_1",
  source: "default",
  channel: "webhook",
  state: "quarantined",
  event: "task.running",
  orderKey: null,
  timestamp: 0,
  receivedAtMs: 0,
  dueAtMs: 0,
  attempts: 1,
  replays: 0,
  lastError: hostile,
} as never as Parameters<typeof renderRow>[0];
const shown = (body: string) => renderRow({ ...row, body: Buffer.from(body) }, layout);

describe("texts of an event", () => {
  it.each([
    ["an error", Object.assign(new Error(hostile), { code: hostile })],
    ["a cause", new Error("failed", { cause: new Error(hostile) })],
    ["a text that was thrown", hostile],
  ])("cannot control the terminal of the default log, nor forge a line of it: %s", (_, err) => {
    const lines: string[] = [];
    const print = vi.spyOn(console, "error").mockImplementation((...texts) => {
      lines.push(...texts.map((text) => (typeof text === "string" ? text : JSON.stringify(text))));
    });
    consoleLogger.error({ err, reason: hostile }, hostile);
    print.mockRestore();
    const text = lines.join("\n");
    expect(text).toContain("FORGED");
    expect(text).not.toMatch(/^(FORGED|\s+at FORGED)/m);
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
  });

  it("cannot control the terminal of a list or of a row", () => {
    for (const text of [renderRows([row], layout), shown(JSON.stringify(hostile))]) {
      expect(text).toContain("FORGED");
      expect(text).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
    }
  });
});

describe("the body of a row", () => {
  it.each([11, 1_000, 10_000, 500_000])("is shown as received when it is nested %i levels deep", (depth) => {
    const body = `{"x":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const text = shown(body);
    expect(text).toContain(body.slice(0, 50_000));
    expect(text.length).toBeLessThan(102_000);
  });

  it("is indented when it is flat, and cut when it is long", () => {
    expect(shown('{"a":{"b":1}}')).toContain('{\n  "a": {\n    "b": 1\n  }\n}\n');
    expect(shown("x".repeat(1_000_000))).toMatch(/x\n… 900000 characters more: --json shows all\n$/);
  });
});
