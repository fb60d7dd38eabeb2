import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import { defaultSettings, type SettingsChanges, withSettings } from "../../../mock-server/settings.ts";

describe("withSettings", () => {
  test("changes what is named and keeps the rest", () => {
    const settings = withSettings({ rateLimit: { requests: 5 }, unauthenticatedStatus: 401 });
    expect(settings).toEqual({
      ...defaultSettings,
      unauthenticatedStatus: 401,
      rateLimit: { ...defaultSettings.rateLimit, requests: 5 },
    });
    expect(withSettings()).toEqual(defaultSettings);
  });

  test.each([
    [{ ratelimit: {} }, "unknown setting settings.ratelimit"],
    [{ bounds: { bodyMax: 1 } }, "unknown setting settings.bounds.bodyMax"],
    [
      { rateLimit: { requests: 0 } },
      "expected settings.rateLimit.requests to be a number of at least 1, got 0",
    ],
    [{ bounds: { bodyBytesMax: Number.NaN } }, "settings.bounds.bodyBytesMax to be a number"],
    [{ delivery: { scheduleMs: [0, -1] } }, "settings.delivery.scheduleMs.1 to be a number of at least 0"],
  ])("refuses %j", async (changes, message) => {
    expect(() => withSettings(changes as SettingsChanges)).toThrow(message);
    await expect(createMockServer({ listen: false, settings: changes as SettingsChanges })).rejects.toThrow(
      message,
    );
  });

  test("a task may take no time, but none of its times is negative", () => {
    expect(withSettings({ tasks: { retryGraceMs: 0 } }).tasks.retryGraceMs).toBe(0);
    expect(() => withSettings({ tasks: { retryGraceMs: -1 } })).toThrow(/retryGraceMs/);
  });

  test("task plans may name any task type", () => {
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

  test.each(rows)("names %s with its default", (name, value) => {
    const text = Array.isArray(value) ? value.join(", ") : String(value);
    expect(page).toContain(`| \`${name}\` | ${text} |`);
  });

  test("names no setting that there is not", () => {
    const named = [...page.matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name]) => name);
    expect(named.toSorted()).toEqual(rows.map(([name]) => name).toSorted());
  });
});
