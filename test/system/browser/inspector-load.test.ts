import { setTimeout as pause } from "node:timers/promises";
import type { MockServer } from "@workspace-tasks/mock-server";
import type { Page } from "playwright-core";
import { beforeAll, expect } from "vitest";
import { callGraphql } from "../../support/mock-client.ts";
import { itWithChromium as it } from "../../support/with-chromium.ts";
import { buildPage, gzippedBytes } from "./support/built-page.ts";
import { createInspectorFixture, fillFixture } from "./support/inspector-fixture.ts";
import { InspectorPage } from "./support/inspector-page.ts";

beforeAll(() => buildPage());

it("the first view of the inspector transfers at most 40 KB, and only Run loads the editor", async () => {
  await using fixture = await createInspectorFixture();
  await fillFixture(fixture);
  await using inspector = await InspectorPage.open(fixture.mock);
  const { page } = inspector;
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await inspector.go("#/overview");
  await page.locator(".legend b").first().waitFor();
  await page.locator(".two-line-items li").first().waitFor();
  expect(gzippedBytes(loaded)).toBeLessThan(40 * 1_024);
  for (const view of ["tasks", "deliveries", "signatures", "endpoints", "requests", "faults", "setup"]) {
    await inspector.show(`#/${view}`);
    await page.getByRole("heading", { level: 2, name: new RegExp(view, "i") }).waitFor();
  }
  expect(gzippedBytes(loaded)).toBeLessThan(70 * 1_024);
  await inspector.show("#/run");
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

/** Counts how often the view is drawn, and the frames of the browser. */
const watch = (page: Page) =>
  page.evaluate(`
    window.watched = { draws: 0, frames: 0 };
    new MutationObserver(() => window.watched.draws++)
      .observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
    const count = () => {
      window.watched.frames++;
      requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  `);

const watched = (page: Page) => page.evaluate("window.watched") as Promise<{ draws: number; frames: number }>;

/** Makes requests until `stop`, at most a thousand per second; each is one event of the stream. */
function startRequests(mock: MockServer) {
  let sent = 0;
  let isStopped = false;
  const run = (async () => {
    while (!isStopped) {
      for (const batchEnd = sent + 5; sent < batchEnd; sent++)
        await callGraphql(mock, "{ webhookEventCatalog { name } }");
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

it("the inspector counts every one of a thousand events per second, renders once per frame and responds to keys meanwhile", async () => {
  await using fixture = await createInspectorFixture();
  await using inspector = await InspectorPage.open(fixture.mock, { hasOwnPauses: true });
  const { page } = inspector;
  await page.getByRole("link", { name: "0 requests" }).waitFor();
  await watch(page);
  const load = startRequests(fixture.mock);
  await page.getByRole("link", { name: "0 requests" }).waitFor({ state: "detached" });
  await page.keyboard.press("6");
  await inspector.rows.first().waitFor();
  await page.keyboard.press("j");
  await inspector.detail.getByText("webhookEventCatalog").first().waitFor();
  await page.keyboard.press("1");
  await page.getByRole("heading", { level: 2, name: "Overview" }).waitFor();
  await expect.poll(load.count).toBeGreaterThan(600);
  const total = await load.stop();
  await page.getByRole("link", { name: `${total} requests` }).waitFor();
  const { draws, frames } = await watched(page);
  // Other views are drawn, too, and what is read again.
  expect(draws).toBeLessThan(3 * frames + 50);
});

it("a list of the inspector has pages of 500 rows, and every row can be reached", async () => {
  await using fixture = await createInspectorFixture();
  const { control } = fixture.mock;
  const { clientId } = await control.startTask({ taskType: "BINDER", progression: "manual" });
  for (let count = 1; count < 501; count++)
    await control.startTask({ taskType: "TAX_PREP", progression: "manual", clientId });
  await using inspector = await InspectorPage.open(fixture.mock, { hash: "#/tasks" });
  const { page, rows } = inspector;
  await rows.first().waitFor();
  expect(await rows.count()).toBe(500);
  await page.getByRole("listbox").press("End");
  const selected = page.getByRole("option", { selected: true }).and(page.locator(".row"));
  await expect.poll(() => selected.boundingBox().then((box) => box?.y)).toBeLessThan(800);
  await inspector.button("Older").click();
  await rows.getByText("BINDER").waitFor();
  expect(await rows.count()).toBe(1);
  expect(await inspector.button("Older").count()).toBe(0);
  await inspector.button("Newest").click();
  await expect.poll(() => rows.count()).toBe(500);
});
