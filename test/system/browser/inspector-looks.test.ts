import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { callGraphql, workspaceToken } from "../../support/mock-client.ts";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { createInspectorFixture, fillFixture } from "./support/inspector-fixture.ts";
import { InspectorPage, phone, shareInspector, widescreen } from "./support/inspector-page.ts";
import { expectGoodLooks, overflowPixels, violations } from "./support/violations.ts";

/** `WORKSPACE_TASKS_PICTURES=1` puts the pictures where the documentation shows them. */
const keepPictures = process.env["WORKSPACE_TASKS_PICTURES"] === "1";
const pictures = keepPictures
  ? fileURLToPath(new URL("../../../docs/images/", import.meta.url))
  : mkdtempSync(join(tmpdir(), "inspector-pictures-"));

const shared = shareInspector(async () => {
  const fixture = await createInspectorFixture();
  await fillFixture(fixture);
  return fixture;
});
beforeAll(() => mkdirSync(pictures, { recursive: true }));
afterAll(() => {
  if (!keepPictures) rmSync(pictures, { recursive: true });
});

/** Every view, with and without a selected row: its address, an element that appears last, and what is clicked before. */
const views: Readonly<Record<string, readonly [address: string, shows: string, ...clicks: string[]]>> = {
  overview: ["overview", ".two-line-items .toned"],
  tasks: ["tasks", ".row[role=option]"],
  task: ["tasks", "[aria-label=Stages] li", ".row:has-text('RUNNING')"],
  deliveries: ["deliveries", ".row[role=option]"],
  delivery: ["deliveries", ".attempts .toned", ".row:has-text('task.failed'):has-text('503')"],
  signatures: ["signatures", ".signature-check .nothing"],
  signature: ["deliveries", ".notice.tone-wait", ".row:has-text('503')", "text=Check the signature"],
  endpoints: ["endpoints", ".health-strip .tone-good"],
  endpoint: ["endpoints", ".detail .facts", ".row[role=option]"],
  "new endpoint": ["endpoints/new", ".detail input"],
  "send an event": ["endpoints/send", ".detail textarea"],
  requests: ["requests", ".row[role=option]"],
  request: ["requests", ".detail pre", ".row:has-text('rejected')"],
  faults: ["faults", ".items .badge"],
  run: ["run", ".code-editor .cm-line"],
  setup: ["setup", "[aria-label=Worlds] b"],
  unknown: ["nowhere", "main .nothing"],
};

async function show(view: string): Promise<InspectorPage> {
  const { inspector } = shared();
  const [address = "", shows = "", ...clicks] = views[view] ?? [];
  await inspector.page.emulateMedia({ colorScheme: "light" });
  await inspector.show(`#/${address}`);
  for (const selector of clicks) await inspector.page.locator(selector).first().click();
  await inspector.page.locator(shows).first().waitFor({ state: "attached" });
  return inspector;
}

it("shows the time and the status of a request once: in columns, or on a phone in its second line", async () => {
  const { page } = await show("requests");
  const second = page.locator(".only-narrow:visible");
  expect(await second.count()).toBe(0);
  await page.setViewportSize(phone);
  await second.first().waitFor();
});

it.each(Object.keys(views))(
  "%s of the inspector passes the accessibility checks and does not scroll sideways, wide and light, and on a phone and dark",
  async (view) => {
    const { page } = await show(view);
    await expectGoodLooks(page, view);
  },
);

it("the help dialog of the inspector passes the accessibility checks", async () => {
  const inspector = await show("overview");
  await inspector.button("? Keys and words").click();
  await inspector.page.getByRole("dialog").waitFor();
  expect(await violations(inspector.page)).toEqual([]);
  await inspector.button("Close").click();
});

it("long URLs and names make no view wider, and the views of a phone scroll to the current one", async () => {
  await using crowded = await createInspectorFixture();
  const url = `http://127.0.0.1:1/${"segment/".repeat(60)}`;
  const { id } = await crowded.mock.control.createEndpoint({ url });
  const { taskId } = await crowded.mock.control.startTask({ taskType: "BINDER", progression: "manual" });
  await crowded.mock.clock.advance(0);
  await using inspector = await InspectorPage.open(crowded.mock);
  const { page } = inspector;
  for (const size of [widescreen, phone]) {
    for (const hash of [
      `#/deliveries?endpointId=${id}`,
      `#/tasks/${taskId}`,
      `#/endpoints/${id}`,
      "#/faults",
    ]) {
      await inspector.show(hash, size);
      await page.getByText("segment/").first().waitFor({ state: "attached" });
      expect(await overflowPixels(page), hash).toBe(0);
    }
  }
  const current = page.getByRole("navigation").locator("[aria-current]");
  await expect.poll(async () => ((await current.boundingBox())?.x ?? 0) + 40).toBeLessThan(phone.width);
  await inspector.show("#/tasks", phone);
  const rejected = inspector.rows.first().getByTitle("1 delivery rejected");
  expect(await rejected.boundingBox()).toMatchObject({ width: expect.any(Number) });
  expect(await rejected.textContent()).toBe("1");
});

describe("pictures of the inspector", () => {
  const bytesMax = 200_000;

  it.each([
    ["overview", "overview"],
    ["deliveries", "delivery"],
    ["signatures", "signature"],
  ])("%s is at most 200 KB", async (name, view) => {
    const inspector = await show(view);
    if (view === "overview") await makeTraffic(inspector.page);
    if (view === "signature") await breakSignature(inspector.page);
    const path = join(pictures, `inspector-${name}.png`);
    await inspector.page.screenshot({ path });
    expect(statSync(path).size).toBeLessThan(bytesMax);
  });

  /** Keys with different shares of their rate limits. */
  async function makeTraffic(page: Page): Promise<void> {
    const { mock } = shared();
    for (const requests of [14, 52]) {
      const { apiKey } = await mock.control.createApiKey({ access: "read_only" });
      const token = await workspaceToken(mock, apiKey);
      for (let sent = 0; sent < requests; sent++)
        await callGraphql(mock, "query Me { me { __typename } }", { token });
    }
    await page.getByRole("meter").and(page.locator("[value='52']")).waitFor();
  }

  async function breakSignature(page: Page): Promise<void> {
    const body = page.getByLabel("Body, exactly as received");
    await body.fill(JSON.stringify(JSON.parse(await body.inputValue()), null, 2));
    await page.locator("[data-code=BODY_REWRITTEN]").waitFor();
  }
});
