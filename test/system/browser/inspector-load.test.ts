import { setTimeout as pause } from "node:timers/promises";
import type { MockServer } from "@workspace-tasks/mock-server";
import type { Page } from "playwright-core";
import { beforeAll, expect } from "vitest";
import { rowPixels } from "../../../mock-server/inspector/page/src/parts/lists/row-size.ts";
import { callGraphql } from "../../support/mock-client.ts";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { buildPage, gzippedBytes } from "./support/built-page.ts";
import { createInspectorFixture, fillFixture } from "./support/inspector-fixture.ts";
import { InspectorPage } from "./support/inspector-page.ts";

beforeAll(buildPage);

it("the first view of the inspector transfers at most 40 KB, and only Run loads the editor", async () => {
  await using fixture = await createInspectorFixture();
  await fillFixture(fixture);
  await using inspector = await InspectorPage.open(fixture.mock);
  const { page } = inspector;
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await inspector.go("#/overview");
  await page.locator(".two-line-items li").first().waitFor();
  expect(gzippedBytes(loaded)).toBeLessThan(40 * 1_024);
  for (const view of ["tasks", "deliveries", "signatures", "endpoints", "requests", "faults", "setup"]) {
    await page.getByRole("link", { name: new RegExp(`^${view}`, "i") }).click();
    await page.getByRole("heading", { level: 2, name: new RegExp(view, "i") }).waitFor();
  }
  expect(gzippedBytes(loaded)).toBeLessThan(70 * 1_024);
  await page.getByRole("link", { name: "Run", exact: true }).click();
  await page.locator(".cm-line").first().waitFor();
  expect(gzippedBytes(loaded)).toBeGreaterThan(150 * 1_024);
});

it("the inspector comes with the licences of the packages in it", async () => {
  await using fixture = await createInspectorFixture();
  const response = await fixture.mock.fetch("/_mock/assets/licences.txt");
  expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  const text = await response.text();
  for (const name of ["preact", "graphql", "@codemirror/view"]) expect(text).toContain(`## ${name} - `);
  for (const each of text.split(/^## .*$/m).slice(1)) expect(each.length).toBeGreaterThan(200);
});

const firstRenderMsMax = 300;

it("the inspector shows the state of the mock after 300 ms of processor time", async () => {
  await using fixture = await createInspectorFixture();
  await fillFixture(fixture);
  await using inspector = await InspectorPage.open(fixture.mock);
  const { page } = inspector;
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const times: number[] = [];
  // The first round compiles the scripts.
  for (let round = 0; round < 5; round++) {
    await inspector.go("#/overview");
    await page.locator(".legend b").first().waitFor();
    const { metrics } = await session.send("Performance.getMetrics");
    times.push(1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN));
  }
  expect(Math.min(...times)).toBeLessThan(firstRenderMsMax);
});

/** Counts how often the view is drawn, and the frames of the browser. */
const watch = (page: Page) =>
  page.evaluate(`
    window.watched = { draws: 0, frames: 0 };
    new MutationObserver(() => window.watched.draws++)
      .observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
    const nextFrame = window.nextFrame ?? requestAnimationFrame;
    const count = () => {
      window.watched.frames++;
      nextFrame(count);
    };
    nextFrame(count);
  `);

const watched = (page: Page) => page.evaluate("window.watched") as Promise<{ draws: number; frames: number }>;

const countRequests = async (mock: MockServer) => (await mock.control.getOverview()).requests;

/** Makes requests until `stop`, at most `perSecond`; each is one event of the stream. A slow machine makes fewer. */
function startRequests(mock: MockServer, perSecond: number) {
  let sent = 0;
  let isStopped = false;
  const run = (async () => {
    while (!isStopped) {
      for (const batchEnd = sent + perSecond / 200; sent < batchEnd; sent++) {
        await callGraphql(mock, "{ webhookEventCatalog { name } }");
      }
      await pause(5); // The rate itself; no event is awaited.
    }
  })();
  return {
    count: () => sent,
    /** Resolves with the number of requests. */
    async stop(): Promise<number> {
      isStopped = true;
      await run;
      return sent;
    },
  };
}

describe("the inspector with a thousand events per second", () => {
  it("counts every event, renders once per frame and responds to keys meanwhile", async () => {
    await using fixture = await createInspectorFixture();
    await fillFixture(fixture);
    await using inspector = await InspectorPage.open(fixture.mock);
    const { page } = inspector;
    const before = await countRequests(fixture.mock);
    await page.getByRole("link", { name: `${before} requests` }).waitFor();
    await watch(page);
    const load = startRequests(fixture.mock, 1_000);
    await page.getByRole("link", { name: `${before} requests` }).waitFor({ state: "detached" });
    await page.keyboard.press("6");
    await inspector.rows.first().waitFor();
    await page.keyboard.press("j");
    await inspector.detail.getByText("webhookEventCatalog").first().waitFor();
    await page.keyboard.press("1");
    await page.getByRole("heading", { level: 2, name: "Overview" }).waitFor();
    await expect.poll(load.count).toBeGreaterThan(2_000);
    const total = await load.stop();
    await page.getByRole("link", { name: `${before + total} requests` }).waitFor();
    const { draws, frames } = await watched(page);
    // Other views are drawn, too, and what is read again.
    expect(draws).toBeLessThan(3 * frames + 50);
  });
});

describe("the inspector with five thousand rows", () => {
  const bottomOfSelected = `document.querySelector(".row[aria-selected=true]").getBoundingClientRect().bottom`;

  it("renders only the visible rows, and every row can be reached", async () => {
    await using fixture = await createInspectorFixture();
    const { mock } = fixture;
    const { clientId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    for (let count = 1; count < 5_000; count++) {
      await mock.control.startTask({ taskType: "BINDER", progression: "manual", clientId });
    }
    await using inspector = await InspectorPage.open(mock, { hash: "#/tasks" });
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
    expect(await page.evaluate(bottomOfSelected)).toBeLessThanOrEqual(800);
    expect(await rows.count()).toBeLessThan(80);
    await page.evaluate(`document.querySelector(".windowed-rows").scrollTop = 2_500 * ${rowPixels[1]}`);
    await rows.and(page.locator('[aria-posinset="2501"]')).waitFor();
    expect(await rows.count()).toBeLessThan(80);

    await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual", clientId });
    await page.evaluate(`document.querySelector(".windowed-rows").scrollTop = 0`);
    await rows.first().getByText("TAX_PREP").waitFor();
    // The loaded pages keep their number; the oldest row needs one more press.
    await inspector.button("Load older").waitFor();
  });
});
