import { readFileSync } from "node:fs";
import { createMockServer, isMockServerError } from "@workspace-tasks/mock-server";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { settingsTable } from "../../../../docs/generate/settings-table.ts";
import { isReceiverUrl } from "../../../../mock-server/checks.ts";
import { plugin as settingsJsonSchema } from "../../../../mock-server/codegen/settings-schema-plugin.ts";
import {
  defaultSettings,
  type SettingsChanges,
  withSettings,
} from "../../../../mock-server/settings/settings.ts";
import { settingDescriptions } from "../../../../mock-server/settings/settings-schema.ts";
import { blocksOf } from "../../../support/documents.ts";

describe("withSettings", () => {
  it("replaces lists and the seed data as a whole", () => {
    const seedData = { workspaces: [{ name: "Acme" }] };
    const settings = withSettings({ delivery: { scheduleMs: [0] }, seedData });
    expect([settings.delivery.scheduleMs, settings.seedData]).toEqual([[0], seedData]);
  });
});

const accepts = (url: string, ...httpHostsAllowed: readonly string[]) =>
  isReceiverUrl(url, { allowLoopbackHttp: true, httpHostsAllowed });

describe("httpHostsAllowed of the mock", () => {
  it("allows a name in another case, and an address that is written in another way", () => {
    expect(accepts("http://receiver:3000/", "Receiver")).toBe(true);
    expect(accepts("http://10.0.0.7/", "other", "10.0.0.7")).toBe(true);
    expect(accepts("http://[fd00::2]:3000/", "[FD00:0::2]")).toBe(true);
    expect(accepts("http://[fd00::3]:3000/", "[FD00:0::2]")).toBe(false);
  });
});

describe("settings that are wrong", () => {
  it.each([
    [{ ratelimit: {} }, "settings: unknown field ratelimit; did you mean rateLimit?"],
    [{ bounds: { bodyMax: 1 } }, "settings.bounds: unknown field bodyMax; expected one of bodyBytesMax, "],
    [{ rateLimit: { requests: 0 } }, "settings.rateLimit.requests: expected a number of at least 1, got 0"],
    [{ rateLimit: { window: "rolling" } }, 'expected "sliding" or "fixed", got "rolling"'],
    [{ unauthenticatedStatus: 403 }, "expected 200 or 401, got 403"],
    [{ httpHostsAllowed: ["receiver:3000"] }, "httpHostsAllowed.0: expected a host name without a port"],
    [{ delivery: { scheduleMs: [0, -1] } }, "scheduleMs.1: expected a number of at least 0, got -1"],
    [
      { tasks: { plans: { BINDER: { progression: "timd" } } } },
      "settings.tasks.plans.BINDER.progression: expected ",
    ],
    [
      { seedData: { workspaces: [{ name: "A" }, { name: "A" }] } },
      "settings.seedData.workspaces.1.name: equals that of item 0",
    ],
    [
      { seedData: { workspaces: [{ name: "A", endpoints: [{ url: "http://shop.example" }] }] } },
      "settings.seedData: Webhook endpoint url must be an HTTPS URL",
    ],
  ])("%j are rejected", async (settings, message) => {
    const starting = createMockServer({ listen: false, settings: settings as SettingsChanges });
    const error = await starting.catch((reason: unknown) => reason);
    expect(isMockServerError(error, "CONFIGURATION_INVALID")).toBe(true);
    expect((error as Error).message).toContain(message);
  });
});

describe("the schema of the settings", () => {
  const validate = new Ajv({ strict: false, logger: false }).compile(JSON.parse(settingsJsonSchema()));

  it("describes every setting that has a default, and no other", () => {
    const names = Object.entries(defaultSettings).flatMap(([group, value]) =>
      typeof value === "object" && !Array.isArray(value) && group !== "seedData"
        ? Object.keys(value).map((name) => `${group}.${name}`)
        : [group],
    );
    expect(settingDescriptions.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect(settingDescriptions.filter(({ about }) => about === "")).toEqual([]);
  });

  it("is the one that editors get, and accepts the defaults", () => {
    expect(readFileSync("mock-server/mock-settings.schema.json", "utf8")).toBe(settingsJsonSchema());
    expect(validate({ $schema: "x", ...defaultSettings }), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ rateLimit: { request: 5 } })).toBe(false);
    expect(validate({ rateLimit: { requests: "5" } })).toBe(false);
  });

  it("is what the site's table shows, a row per setting with its default", () => {
    const names = Array.from(settingsTable().matchAll(/^\| `(\S+)` \| \S/gm), ([, name]) => name);
    expect(names).toEqual(settingDescriptions.map(({ name }) => name));
    expect(settingsTable()).toContain("| `rateLimit.requests` | 120 |");
  });

  it("accepts the examples of docs/mock-limits.md, as a mock does", async () => {
    const page = readFileSync("docs/mock-limits.md", "utf8");
    const files = blocksOf(page).filter(({ language }) => language === "json");
    expect(files.length).toBeGreaterThan(1);
    for (const { text } of files) {
      const { $schema: _, ...settings } = JSON.parse(text);
      await using mock = await createMockServer({ listen: false, settings });
      expect(await mock.control.getSettings()).toMatchObject(settings);
    }
  });
});
