import { setTimeout as pause } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import type { MockServer } from "workspace-tasks/mock-server";
import { describeWithChromium as describe, itWithChromium as test } from "../support/machine.ts";
import { callGraphql } from "../support/mock-client.ts";
import { buildPage, gzippedPageBytes } from "./support/built-page.ts";
import { launchChromium } from "./support/chromium.ts";
import { InspectorPage } from "./support/inspector-page.ts";
import { createInspectorScene, fillScene } from "./support/inspector-scene.ts";

let browser: Browser;
beforeAll(async () => {
  buildPage();
  browser = await launchChromium();
});
afterAll(() => browser.close());

test("the whole page is at most 40 KB on the wire", () => {
  expect(gzippedPageBytes()).toBeLessThan(40 * 1_024);
});

const firstRenderMsMax = 300;

test("the first render shows what the mock holds within 300 ms", async () => {
  await using scene = await createInspectorScene();
  await fillScene(scene);
  const times: number[] = [];
  // The machine may be busy with other tests: the quickest of a few says what the page itself takes.
  for (let round = 0; round < 15 && Math.min(...times) > firstRenderMsMax; round++) {
    await using inspector = await InspectorPage.open(browser, scene.mock);
    const { page } = inspector;
    await page.addInitScript(`
      const look = () => {
        if (document.querySelector(".legend b")) window.shownAtMs = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    `);
    await inspector.go("#/overview");
    await page.waitForFunction("window.shownAtMs !== undefined");
    times.push((await page.evaluate("window.shownAtMs")) as number);
  }
  expect(Math.min(...times)).toBeLessThan(firstRenderMsMax);
});

/** Counts how often the view is drawn and how long the page was not to be spoken to. */
const watch = (page: Page) =>
  page.evaluate(`
    window.watched = { draws: 0, gapMs: 0 };
    new MutationObserver(() => window.watched.draws++)
      .observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
    let lastMs = performance.now();
    setInterval(() => {
      const nowMs = performance.now();
      window.watched.gapMs = Math.max(window.watched.gapMs, nowMs - lastMs);
      lastMs = nowMs;
    }, 10);
  `);

const watched = (page: Page) => page.evaluate("window.watched") as Promise<{ draws: number; gapMs: number }>;

/** Makes requests at a steady rate; each is one event of the stream. */
async function makeRequests(mock: MockServer, perSecond: number, seconds: number): Promise<number> {
  const startedAtMs = performance.now();
  const total = perSecond * seconds;
  for (let made = 0; made < total; ) {
    const due = Math.min(total, Math.ceil(((performance.now() - startedAtMs) / 1_000) * perSecond));
    for (; made < due; made++) await callGraphql(mock, "{ webhookEventCatalog { name } }");
    await pause(5); // The pace itself: nothing is waited for.
  }
  return total;
}

describe("a thousand events per second", () => {
  test("are all counted, drawn by the frame, and leave the page free to answer", async () => {
    await using scene = await createInspectorScene();
    await fillScene(scene);
    await using inspector = await InspectorPage.open(browser, scene.mock);
    const { page } = inspector;
    await page.getByRole("link", { name: "0 requests" }).waitFor();
    await watch(page);
    const load = makeRequests(scene.mock, 1_000, 3);
    await page.getByRole("link", { name: /^[1-9]\d* requests/ }).waitFor();
    await page.keyboard.press("6");
    await inspector.rows.first().waitFor();
    await page.keyboard.press("j");
    await inspector.detail.getByText("webhookEventCatalog").first().waitFor();
    await page.keyboard.press("1");
    const total = await load;
    await page.getByRole("link", { name: `${total} requests` }).waitFor();
    const { draws, gapMs } = await watched(page);
    expect(draws).toBeLessThan(total / 4);
    expect(gapMs).toBeLessThan(1_000);
  });

  test("would be drawn one by one if the page did not wait for its frames", async () => {
    await using scene = await createInspectorScene();
    await using inspector = await InspectorPage.open(browser, scene.mock);
    const { page } = inspector;
    await page.addInitScript("window.requestAnimationFrame = (run) => (queueMicrotask(run), 0);");
    await inspector.go("#/overview");
    await page.getByRole("status").getByText("live").waitFor();
    await watch(page);
    const total = await makeRequests(scene.mock, 500, 1);
    await page.getByRole("link", { name: `${total} requests` }).waitFor();
    expect((await watched(page)).draws).toBeGreaterThan(total / 2);
  });
});

describe("five thousand rows", () => {
  const bottomOfChosen = `document.querySelector(".row[aria-selected=true]").getBoundingClientRect().bottom`;

  test("are drawn as far as they are seen, and each is reached", async () => {
    await using scene = await createInspectorScene();
    const { mock } = scene;
    const { clientId } = await mock.admin.startTask({ taskType: "BINDER", progression: "manual" });
    for (let made = 1; made < 5_000; made++) {
      mock.admin.startTask({ taskType: "BINDER", progression: "manual", clientId });
    }
    await using inspector = await InspectorPage.open(browser, mock, { hash: "#/tasks" });
    const { page, rows } = inspector;
    const last = page.getByRole("option", { selected: true }).and(page.locator(".row"));
    for (let loaded = 500; loaded < 5_000; loaded += 500) {
      await rows
        .and(page.locator(`[aria-setsize="${loaded}"]`))
        .first()
        .waitFor();
      await inspector.button("Load older").click();
    }
    await rows.and(page.locator('[aria-setsize="5000"]')).first().waitFor();
    expect(await inspector.button("Load older").count()).toBe(0);

    await page.getByRole("listbox").press("End");
    await last.and(page.locator('[aria-posinset="5000"]')).waitFor();
    expect(await page.evaluate(bottomOfChosen)).toBeLessThanOrEqual(800);
    expect(await rows.count()).toBeLessThan(80);
    await page.evaluate(`document.querySelector(".rows").scrollTop = 2_500 * 34`);
    await rows.and(page.locator('[aria-posinset="2501"]')).waitFor();
    expect(await rows.count()).toBeLessThan(80);

    mock.admin.startTask({ taskType: "TAX_PREP", progression: "manual", clientId });
    await page.evaluate(`document.querySelector(".rows").scrollTop = 0`);
    await rows.first().getByText("TAX_PREP").waitFor();
    // What has been loaded keeps its length; the oldest row is one press away again.
    await inspector.button("Load older").waitFor();
  });
});
