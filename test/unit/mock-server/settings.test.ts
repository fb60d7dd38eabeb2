import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import { defaultSettings, type SettingsChanges, withSettings } from "../../../mock-server/settings.ts";

describe("withSettings", () => {
  it("changes the given settings and keeps the others", () => {
    const settings = withSettings({ rateLimit: { requests: 5 }, unauthenticatedStatus: 401 });
    expect(settings).toEqual({
      ...defaultSettings,
      unauthenticatedStatus: 401,
      rateLimit: { ...defaultSettings.rateLimit, requests: 5 },
    });
    expect(withSettings()).toEqual(defaultSettings);
  });

  it.each([
    [{ ratelimit: {} }, "settings: unknown option ratelimit; did you mean rateLimit?"],
    [{ bounds: { bodyMax: 1 } }, "settings.bounds: unknown option bodyMax; expected one of bodyBytesMax, "],
    [{ rateLimit: { requests: 0 } }, "settings.rateLimit.requests: expected a number of at least 1, got 0"],
    [{ rateLimit: { requests: "5" } }, 'expected a number of at least 1, got "5"'],
    [{ rateLimit: { window: "rolling" } }, 'expected "sliding" or "fixed", got "rolling"'],
    [{ rateLimit: 5 }, "settings.rateLimit: expected an object, got 5"],
    [{ unauthenticatedStatus: 403 }, "expected 200 or 401, got 403"],
    [{ allowLoopbackHttp: "no" }, 'expected true or false, got "no"'],
    [{ bounds: { bodyBytesMax: Number.NaN } }, "expected a number of at least 1, got NaN"],
    [
      { delivery: { scheduleMs: [0, -1] } },
      "scheduleMs: expected an array of numbers of at least 0, got an array",
    ],
    [{ tasks: { retryGraceMs: -1 } }, "expected a number of at least 0, got -1"],
  ])("rejects %j", async (changes, message) => {
    expect(() => withSettings(changes as SettingsChanges)).toThrow(message);
    await expect(createMockServer({ listen: false, settings: changes as SettingsChanges })).rejects.toThrow(
      message,
    );
  });

  it("accepts 0 for the retry grace period and ignores undefined", () => {
    expect(withSettings({ tasks: { retryGraceMs: 0 }, rateLimit: undefined })).toEqual(defaultSettings);
  });

  it("accepts a task plan for any task type", () => {
    const plan = { mode: "manual", stages: [] } as const;
    const { plans } = withSettings({ tasks: { plans: { NEW_KIND: plan } } }).tasks;
    expect(plans).toEqual({ ...defaultSettings.tasks.plans, NEW_KIND: plan });
  });
});

describe("docs/mock-limits.md", () => {
  const page = readFileSync("docs/mock-limits.md", "utf8");
  const tasks = { ...defaultSettings.tasks, plans: "timed, 1000 ms per stage" };
  const rows = Object.entries({ ...defaultSettings, tasks }).flatMap(([group, value]): [string, unknown][] =>
    typeof value === "object"
      ? Object.entries(value).map(([name, inner]) => [`${group}.${name}`, inner])
      : [[group, value]],
  );

  it.each(rows)("lists %s with its default", (name, value) => {
    const text = Array.isArray(value) ? value.join(", ") : String(value);
    expect(page).toContain(`| \`${name}\` | ${text} |`);
  });

  it("lists no other settings", () => {
    const named = [...page.matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name]) => name);
    expect(named.toSorted()).toEqual(rows.map(([name]) => name).toSorted());
  });
});
