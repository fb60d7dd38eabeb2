import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MockServer } from "@workspace-tasks/mock-server";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { callGraphql, workspaceToken } from "../../support/mock-client.ts";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { buildPage } from "./support/built-page.ts";
import { createInspectorFixture, fillFixture, type InspectorFixture } from "./support/inspector-fixture.ts";
import { InspectorPage, phone, widescreen } from "./support/inspector-page.ts";
import { violations } from "./support/violations.ts";

/** `WORKSPACE_TASKS_PICTURES=1` puts the pictures where the documentation shows them. */
const keepPictures = process.env["WORKSPACE_TASKS_PICTURES"] === "1";
const pictures = keepPictures
  ? fileURLToPath(new URL("../../../docs/images/", import.meta.url))
  : mkdtempSync(join(tmpdir(), "inspector-pictures-"));

let fixture: InspectorFixture;
beforeAll(async () => {
  buildPage();
  mkdirSync(pictures, { recursive: true });
  fixture = await createInspectorFixture();
  await fillFixture(fixture);
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  if (!keepPictures) rmSync(pictures, { recursive: true });
});

interface Ids {
  readonly waiting: string;
  readonly rejected: string;
  readonly task: string;
  readonly endpoint: string;
}

/** What the fixture has, for the views with a selected row. */
async function idsIn({ control }: MockServer): Promise<Ids> {
  const [waiting] = (await control.listDeliveries({ order: "desc", rejected: true, event: "task.failed" }))
    .data;
  const [rejected] = (await control.listRequests({ order: "desc", result: "rejected" })).data;
  const [task] = (await control.listTasks({ order: "desc", status: "RUNNING" })).data;
  const [endpoint] = (await control.listEndpoints()).data;
  return {
    waiting: waiting?.id ?? "",
    rejected: String(rejected?.sequence),
    task: task?.taskId ?? "",
    endpoint: endpoint?.id ?? "",
  };
}

/** Every view, with and without a selected row: its address, and an element that appears last. */
const views: Readonly<Record<string, readonly [address: string | ((ids: Ids) => string), shows: string]>> = {
  overview: ["overview", ".two-line-items .toned"],
  tasks: ["tasks", "[role=option]"],
  task: [({ task }) => `tasks/${task}`, ".timeline .open"],
  deliveries: ["deliveries", "[role=option]"],
  delivery: [({ waiting }) => `deliveries/${waiting}`, ".attempts .toned"],
  signatures: ["signatures", ".signature-check .nothing"],
  signature: [({ waiting }) => `signatures/${waiting}%2F1`, ".notice.tone-wait"],
  endpoints: ["endpoints", ".health-strip .tone-good"],
  endpoint: [({ endpoint }) => `endpoints/${endpoint}`, ".detail .facts"],
  "new endpoint": ["endpoints/new", ".detail input"],
  "send an event": ["endpoints/send", ".detail textarea"],
  requests: ["requests", "[role=option]"],
  request: [({ rejected }) => `requests/${rejected}`, ".detail pre"],
  faults: ["faults", ".items .badge"],
  run: ["run", ".code-editor .cm-line"],
  setup: ["setup", "[aria-label=Worlds] b"],
  unknown: ["nowhere", "main .nothing"],
};

async function show(inspector: InspectorPage, view: string): Promise<void> {
  const [address = "", shows = ""] = views[view] ?? [];
  await inspector.go(`#/${typeof address === "string" ? address : address(await idsIn(fixture.mock))}`);
  await inspector.page.locator(shows).first().waitFor({ state: "attached" });
}

/** That the name of each control begins as it is labelled is no rule by default. */
const rules = { "label-content-name-mismatch": { enabled: true } };

/** By how much the page, its view or a panel is too wide; the strip of views may scroll. */
const overflowPixels = (page: Page) =>
  page.evaluate(`Math.max(...[document.scrollingElement, ...document.querySelectorAll(
    ".bar, .view, .detail, .windowed-rows, .panel, dialog"
  )].map((element) => element.scrollWidth - element.clientWidth))`) as Promise<number>;

/** What the page does about its new size. */
const twoFrames = (page: Page) =>
  page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");

describe("every view of the inspector", () => {
  let inspector: InspectorPage;
  beforeAll(async () => {
    inspector = await InspectorPage.open(fixture.mock);
  });
  afterAll(() => inspector[Symbol.asyncDispose]());

  // A phone shows either a list or a detail, so that both are checked in each theme.
  it.each(Object.keys(views))(
    "%s passes the accessibility checks and does not scroll sideways, wide and light, and on a phone and dark",
    async (view) => {
      const { page } = inspector;
      await show(inspector, view);
      for (const [size, colorScheme] of [
        [widescreen, "light"],
        [phone, "dark"],
      ] as const) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme });
        await twoFrames(page);
        expect(await violations(page, { rules }), colorScheme).toEqual([]);
        expect(await overflowPixels(page), colorScheme).toBe(0);
      }
    },
  );
});

it("the help dialog passes the accessibility checks", async () => {
  await using inspector = await InspectorPage.open(fixture.mock);
  await inspector.button("? Keys and words").click();
  await inspector.page.getByRole("dialog").waitFor();
  expect(await violations(inspector.page, { rules })).toEqual([]);
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
    await page.setViewportSize(size);
    for (const hash of [
      `#/deliveries?endpointId=${id}`,
      `#/tasks/${taskId}`,
      `#/endpoints/${id}`,
      "#/faults",
    ]) {
      await inspector.go(hash);
      await page.getByText("segment/").first().waitFor({ state: "attached" });
      expect(await overflowPixels(page), hash).toBe(0);
    }
  }
  const current = page.getByRole("navigation").locator("[aria-current]");
  await expect.poll(async () => ((await current.boundingBox())?.x ?? 0) + 40).toBeLessThan(phone.width);
  await inspector.go("#/tasks");
  const rejected = inspector.rows.first().getByTitle("1 delivery rejected");
  expect(await rejected.boundingBox()).toMatchObject({ width: expect.any(Number) });
  expect(await rejected.textContent()).toBe("1");
});

it("a phone shows either the list or the selected row", async () => {
  await using inspector = await InspectorPage.open(fixture.mock, { ...phone, hash: "#/deliveries" });
  const { page, rows, detail } = inspector;
  await rows.first().click();
  await detail.getByRole("heading", { name: /^Attempt \d/ }).waitFor();
  expect(await page.getByRole("listbox").isVisible()).toBe(false);
  await inspector.button("‹ All deliveries").click();
  await rows.first().waitFor();
  expect(await detail.count()).toBe(0);
});

describe("pictures of the inspector", () => {
  const bytesMax = 200_000;

  it.each<[string, typeof widescreen, "light" | "dark", string]>([
    ["overview", widescreen, "light", "overview"],
    ["deliveries", widescreen, "light", "delivery"],
    ["signatures", widescreen, "light", "signature"],
  ])("%s is at most 200 KB", async (name, size, colorScheme, view) => {
    await using inspector = await InspectorPage.open(fixture.mock, { ...size, colorScheme });
    await show(inspector, view);
    if (view === "overview") await makeTraffic(inspector.page);
    if (view === "signature") await breakSignature(inspector.page);
    const path = join(pictures, `inspector-${name}.png`);
    await inspector.page.screenshot({ path });
    expect(statSync(path).size).toBeLessThan(bytesMax);
  });

  /** Keys with different shares of their rate limits. */
  async function makeTraffic(page: Page): Promise<void> {
    const { mock } = fixture;
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
