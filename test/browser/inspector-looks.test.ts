import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { describeWithChromium as describe, itWithChromium as test } from "../support/machine.ts";
import { callGraphql, workspaceToken } from "../support/mock-client.ts";
import { buildPage } from "./support/built-page.ts";
import { launchChromium } from "./support/chromium.ts";
import { InspectorPage, phone, widescreen } from "./support/inspector-page.ts";
import { createInspectorScene, fillScene, type InspectorScene } from "./support/inspector-scene.ts";

/** `WORKSPACE_TASKS_PICTURES=1` puts the pictures where the documentation shows them. */
const keepPictures = process.env["WORKSPACE_TASKS_PICTURES"] === "1";
const pictures = keepPictures
  ? fileURLToPath(new URL("../../docs/images/", import.meta.url))
  : mkdtempSync(join(tmpdir(), "inspector-pictures-"));

let browser: Browser;
let scene: InspectorScene;
beforeAll(async () => {
  buildPage();
  mkdirSync(pictures, { recursive: true });
  scene = await createInspectorScene();
  await fillScene(scene);
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await scene[Symbol.asyncDispose]();
  if (!keepPictures) rmSync(pictures, { recursive: true });
});

/** Every view, empty-handed and with something chosen: where it is, and what is there once all has come. */
function viewsOf({ mock }: InspectorScene) {
  const waiting = mock.admin.deliveryLog({ status: "pending", event: "task.failed" }).data[0]?.id;
  const refused = mock.admin.requestLog().data.find(({ errors }) => errors.length > 0)?.sequence;
  const task = mock.admin.tasks({ status: "RUNNING" }).data[0]?.taskId;
  return {
    overview: { hash: "#/overview", shows: ".lines .reason" },
    tasks: { hash: "#/tasks", shows: "[role=option]" },
    task: { hash: `#/tasks/${task}`, shows: ".timeline .open" },
    deliveries: { hash: "#/deliveries", shows: "[role=option]" },
    delivery: { hash: `#/deliveries/${waiting}`, shows: ".rail .attempt" },
    signatures: { hash: "#/signatures", shows: "option:nth-child(2)" },
    signature: { hash: `#/signatures/${waiting}%2F1`, shows: ".notice.good" },
    endpoints: { hash: "#/endpoints", shows: ".facts" },
    requests: { hash: "#/requests", shows: "[role=option]" },
    request: { hash: `#/requests/${refused}`, shows: ".detail pre" },
    faults: { hash: "#/faults", shows: ".lines .mark" },
  } as const;
}

type View = keyof ReturnType<typeof viewsOf>;

async function show(inspector: InspectorPage, view: View): Promise<void> {
  const { hash, shows } = viewsOf(scene)[view];
  await inspector.go(hash);
  await inspector.page.locator(shows).first().waitFor({ state: "attached" });
}

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] };

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations: found } = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] })",
  )) as {
    violations: readonly Violation[];
  };
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

/** How far the page, its view or a panel sticks out at the side; the strip of places may be scrolled. */
const overflowPixels = (page: Page) =>
  page.evaluate(`Math.max(...[document.scrollingElement, ...document.querySelectorAll(
    ".bar, .view, .detail, .rows, .panel, dialog"
  )].map((element) => element.scrollWidth - element.clientWidth))`) as Promise<number>;

describe.each([
  ["wide and light", widescreen, "light"],
  ["wide and dark", widescreen, "dark"],
  ["on a phone and light", phone, "light"],
  ["on a phone and dark", phone, "dark"],
] as const)("every view, %s,", (_, size, colorScheme) => {
  test("passes the accessibility checks and needs no scrolling sideways", async () => {
    await using inspector = await InspectorPage.open(browser, scene.mock, { ...size, colorScheme });
    const { page } = inspector;
    for (const view of Object.keys(viewsOf(scene)) as View[]) {
      await show(inspector, view);
      expect(await violations(page), view).toEqual([]);
      expect(await overflowPixels(page), view).toBe(0);
    }
  });
});

test("the dialog of the keys passes the accessibility checks", async () => {
  await using inspector = await InspectorPage.open(browser, scene.mock);
  await inspector.button("Keys").click();
  await inspector.page.getByRole("dialog").waitFor();
  expect(await violations(inspector.page)).toEqual([]);
});

test("the accessibility checks find what is wrong", async () => {
  await using inspector = await InspectorPage.open(browser, scene.mock);
  await inspector.page.evaluate(`
    document.querySelector("main").insertAdjacentHTML("beforeend", "<button></button><img alt>");
    document.querySelector("h2").style.color = "#ddd";
  `);
  const found = (await violations(inspector.page)).join();
  expect(found).toContain("button-name");
  expect(found).toContain("color-contrast");
});

test("what sticks out at the side is noticed", async () => {
  await using inspector = await InspectorPage.open(browser, scene.mock, { ...phone, hash: "#/endpoints" });
  await inspector.page.locator(".facts").first().waitFor();
  expect(await overflowPixels(inspector.page)).toBe(0);
  await inspector.page.evaluate(`document.querySelector(".facts").style.width = "500px"`);
  expect(await overflowPixels(inspector.page)).toBeGreaterThan(100);
});

test("on a phone a list and what is chosen in it take turns", async () => {
  await using inspector = await InspectorPage.open(browser, scene.mock, { ...phone, hash: "#/deliveries" });
  const { page, rows, detail } = inspector;
  await rows.first().click();
  await detail.getByText("Attempt 1").waitFor();
  expect(await page.getByRole("listbox").isVisible()).toBe(false);
  await inspector.button("‹ All deliveries").click();
  await rows.first().waitFor();
  expect(await detail.count()).toBe(0);
});

describe("pictures", () => {
  const bytesMax = 200_000;

  test.each<[string, typeof widescreen, "light" | "dark", View]>([
    ["overview", widescreen, "light", "overview"],
    ["deliveries", widescreen, "light", "delivery"],
    ["signatures", widescreen, "light", "signature"],
  ])("%s is small enough to be kept", async (name, size, colorScheme, view) => {
    await using inspector = await InspectorPage.open(browser, scene.mock, { ...size, colorScheme });
    if (view === "overview") await inspector.page.clock.install();
    await show(inspector, view);
    if (view === "overview") await makeTraffic(inspector.page);
    if (view === "signature") await breakSignature(inspector.page);
    const path = join(pictures, `inspector-${name}.png`);
    await inspector.page.screenshot({ path });
    expect(statSync(path).size).toBeLessThan(bytesMax);
  });

  /** A minute of the reader's time in which requests come and go. */
  async function makeTraffic(page: Page): Promise<void> {
    const { mock } = scene;
    // A key of its own: the mock's clock stands still, so an allowance comes only once.
    const token = await workspaceToken(mock, mock.admin.createApiKey({ access: "read_only" }).apiKey);
    for (let second = 0; second < 56; second++) {
      const requests = Math.round(1.2 + Math.sin(second / 5) + 0.8 * Math.cos(second / 2.3));
      for (let sent = 0; sent < requests; sent++)
        await callGraphql(mock, "query Me { me { __typename } }", { token });
      await page.clock.runFor(1_000);
    }
  }

  async function breakSignature(page: Page): Promise<void> {
    const body = page.getByLabel("Body, exactly as it arrived");
    await body.fill(JSON.stringify(JSON.parse(await body.inputValue()), null, 2));
    await page.locator("[data-code=BODY_REWRITTEN]").waitFor();
  }
});
