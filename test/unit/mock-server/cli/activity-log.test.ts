import { describe, expect, it } from "vitest";
import { createBoundedOutput, lineOf } from "../../../../mock-server/cli/activity-log.ts";

const request = (changes: object = {}) => ({
  type: "request.completed",
  at: "2026-01-15T12:00:00.120Z",
  request: {
    operations: ["createClient"],
    operationName: "Add",
    status: 200,
    errors: [],
    rejection: null,
    faults: [],
    durationMs: 2.6,
    ...changes,
  },
});

const attempt = (changes: object, delivery: object = {}) => ({
  type: "delivery.attempted",
  at: "2026-01-15T12:00:00.120Z",
  event: "task.completed",
  url: "http://user:pw@127.0.0.1:3000/hooks?token=abc",
  status: "pending",
  nextAttemptAt: "2026-01-15T12:05:00.120Z",
  tries: 2,
  triesMax: 8,
  attempt: { number: 1, kind: "scheduled", status: 204, error: null, durationMs: 12, faults: [], ...changes },
  ...delivery,
});

const plain = { color: false, date: false };

describe("lineOf", () => {
  it("shows time, status, operation and duration of a request, and why it was rejected", () => {
    expect(lineOf(request(), plain)).toBe("12:00:00.120Z request  200 createClient in 3 ms");
    const errors = [{ code: "UNAUTHENTICATED" }];
    const rejected = request({ errors, rejection: "token expired", faults: ["delay"] });
    expect(lineOf(rejected, { ...plain, date: true, world: "ci" })).toBe(
      "2026-01-15T12:00:00.120Z [ci] request  200 createClient in 3 ms, UNAUTHENTICATED: token expired, fault: delay",
    );
  });

  it("shows a delivery attempt, why it failed and when the next one is, without secrets of the URL", () => {
    expect(lineOf(attempt({}), plain)).toBe(
      "12:00:00.120Z delivery 204 task.completed → 127.0.0.1:3000/hooks?… in 12 ms, try 2 of 8",
    );
    expect(lineOf(attempt({ status: 401, error: "status 401" }), plain)).toBe(
      "12:00:00.120Z delivery 401 task.completed → 127.0.0.1:3000/hooks?… in 12 ms, try 2 of 8, next in 5 min",
    );
    expect(lineOf(attempt({ status: null, error: "ECONNREFUSED", kind: "replay" }), plain)).toBe(
      "12:00:00.120Z delivery --- task.completed → 127.0.0.1:3000/hooks?… in 12 ms, ECONNREFUSED, replay, next in 5 min",
    );
    const last = attempt({ status: 500, error: "status 500" }, { nextAttemptAt: null, status: "failed" });
    expect(lineOf(last, plain)).toContain("no try left");
  });

  it("masks keys, escapes control characters and cuts long text", () => {
    const key = `wtk_${"a".repeat(43)}`;
    const line = lineOf(request({ rejection: `\u001B[2J\n${key} ${"x".repeat(2_000)}` }), plain) ?? "";
    expect(line).not.toContain(key);
    expect(line).toContain("\\u001b[2J\\n");
    expect(line).not.toMatch(/\p{Cc}/u);
    expect(line.length).toBeLessThan(700);
  });
});

it("a log leaves lines out while a megabyte is unread, and counts them", () => {
  const texts: string[] = [];
  const stdout = { write: (text: string) => texts.push(text), writableLength: 2 ** 20 };
  const write = createBoundedOutput(stdout);
  write("unread");
  expect(texts).toEqual([]);
  stdout.writableLength = 0;
  write("read");
  expect(texts).toEqual(["… 1 lines left out\nread\n"]);
});
