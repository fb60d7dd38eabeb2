import { expect } from "vitest";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { createInspectorFixture, receiverUrls } from "./support/inspector-fixture.ts";
import { InspectorPage, phone, shareInspector } from "./support/inspector-page.ts";
import { createTroubledMock, type TroubledMock } from "./support/troubled-mock.ts";

// What the page shows of a mock with five endpoints of which one works.

const shared = shareInspector(createTroubledMock);

const small = { width: 1024, height: 768 };

async function deliveryOf(path: keyof TroubledMock["urls"]) {
  const { data } = await shared().mock.control.listDeliveries({ text: shared().urls[path], limit: 1 });
  return data[0]?.id ?? "";
}

describe("a list of deliveries", () => {
  it("says in each row which endpoint it is for, with and without a detail, at every width (I1)", async () => {
    const { inspector } = shared();
    for (const size of [{ width: 1440, height: 900 }, phone, small]) {
      await inspector.show("#/deliveries", size);
      const name = inspector.rows.filter({ hasText: "/unauth" }).first().locator(".endpoint-name");
      expect((await name.boundingBox())?.width).toBeGreaterThan(60);
    }
    await inspector.rows.first().click();
    await inspector.detail.waitFor();
    const path = inspector.rows.filter({ hasText: "/refused" }).first().getByText("/refused");
    expect((await path.boundingBox())?.width).toBeGreaterThan(30);
    await inspector.rows
      .getByText(/^2\/8 · |^3\/8 · /)
      .first()
      .waitFor();
  });

  it("shows only a range of its chart that is dragged, or selected by keys, and all again (I3, I6)", async () => {
    const { inspector } = shared();
    const { page, rows } = inspector;
    await inspector.show("#/deliveries");
    const chart = page.getByRole("slider", { name: /^Time of deliveries/ });
    const { x = 0, y = 0, width = 0 } = (await chart.boundingBox()) ?? {};
    await rows.first().waitFor();
    const all = await rows.count();
    await page.mouse.move(x + 2, y + 20);
    await page.mouse.down();
    await page.mouse.move(x + width / 4, y + 20);
    await page.mouse.up();
    await expect.poll(() => rows.count()).toBeLessThan(all);
    expect(page.url()).toMatch(/from=.*&to=/);
    await page.getByRole("button", { name: /✕, show all times$/ }).click();
    await expect.poll(() => rows.count()).toBe(all);
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Shift+ArrowRight");
    expect(await chart.getAttribute("aria-valuetext")).toMatch(/: \d+ delivered, \d+ rejected, \d+ waiting/);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /✕, show all times$/ }).waitFor();
  });

  it("is sorted by a column, and has milliseconds on its times (I6)", async () => {
    const { inspector } = shared();
    await inspector.show("#/requests");
    const { rows } = inspector;
    await inspector.button("took: sort").click();
    await rows.first().getByText("Slow").waitFor();
    await inspector.button("took ↓: sort").click();
    await inspector.button("took ↑: sort").waitFor();
    await expect.poll(() => rows.first().textContent()).not.toContain("Slow");
    expect(await rows.first().locator("[title]").first().getAttribute("title")).toMatch(/\.\d{3} UTC$/);
    await inspector.page.getByRole("link", { name: /^limited/ }).click();
    await rows.filter({ hasText: "429" }).first().waitFor();
  });
});

describe("the overview of a mock with trouble", () => {
  it("shows health, and nothing that was due in the past (I3, I4)", async () => {
    const { inspector } = shared();
    await inspector.show("#/overview");
    const refused = inspector.panel("Endpoints").getByRole("listitem").filter({ hasText: "/refused" });
    await refused.getByText("failing").waitFor();
    await refused.getByText(/^refused since \d\d:\d\d:\d\d, never a success$/).waitFor();
    await refused.getByRole("img", { name: /^0 of the last \d+ attempts accepted$/ }).waitFor();
    expect(await refused.locator(".tone-good").count()).toBe(0);
    const due = inspector.panel("Due next");
    await due.getByText(/^4 × attempt 1 → 127\.0\.0\.1:\d+\/slow$/).waitFor();
    await due
      .getByText(/^runs for /)
      .first()
      .waitFor();
    await due.getByText(/^waits for a free connection to 127\.0\.0\.1:\d+\/slow$/).waitFor();
    await due
      .getByText(/^\d+ × attempt \d → 127\.0\.0\.1:\d+\/unauth$/)
      .first()
      .waitFor();
    expect(await due.textContent()).not.toContain("ago");
  });

  it("counts what is rejected now and what failed, and shows each response as it arrives (I2)", async () => {
    const { inspector } = shared();
    await inspector.show("#/overview");
    const { page } = inspector;
    await page.getByRole("heading", { name: "Rejected now" }).waitFor();
    await page.getByText(/^\d+ failed attempts in the last hour$/).waitFor();
    await shared().mock.control.replayDelivery(await deliveryOf("/unauth"));
    await page
      .locator(".toned.tone-bad")
      .getByText(/^401 → 127\.0\.0\.1:\d+\/unauth/)
      .first()
      .waitFor();
  });
});

it("the page has dates, and the newest first, on a virtual clock that was advanced and reset (I2)", async () => {
  await using fixture = await createInspectorFixture();
  const { mock } = fixture;
  await mock.control.createEndpoint({ url: receiverUrls.billing });
  await using inspector = await InspectorPage.open(mock);
  const { page } = inspector;
  const start = () => mock.control.startTask({ taskType: "BINDER", progression: "manual" });
  await start();
  await mock.clock.advance("2d");
  await start();
  const just = inspector.panel("Just now");
  await just.getByText("01-15 12:00:00").first().waitFor();
  const times = await just.locator("time").evaluateAll((all) => all.map((each) => each.title));
  expect(times).toEqual([...times].sort().reverse());
  await page.getByRole("link", { name: /^Deliveries/ }).click();
  await inspector.rows.getByText("01-15 12:00:00").waitFor();
  await page.getByRole("link", { name: /^Overview/ }).click();
  await mock.control.reset();
  await just
    .getByText(/^No activity|^mock\.|^\d\d:\d\d:\d\d$/)
    .first()
    .waitFor();
  await expect.poll(() => just.getByText("task.created").count()).toBe(0);
});

describe("the detail of a delivery", () => {
  it("has one table of attempts, the differences of their headers, and the body once (I5)", async () => {
    const { inspector } = shared();
    const id = await deliveryOf("/unauth");
    await shared().mock.control.replayDelivery(id);
    await inspector.show(`#/deliveries/${id}`);
    const { detail } = inspector;
    const table = detail.getByRole("table", { name: "Attempts" });
    await inspector.button("Attempt 2").click();
    expect(await table.getByRole("columnheader").allTextContents()).toEqual([
      "#",
      "time",
      "response",
      "duration",
    ]);
    const headers = detail.getByRole("region", { name: "Request headers" });
    await headers.getByText(/^\+webhook-signature: /).waitFor();
    await headers.getByText(/^-webhook-signature: /).waitFor();
    await headers.getByText(/^ webhook-id: /).waitFor();
    expect(await detail.getByRole("heading", { name: /^Body/ }).count()).toBe(1);
    await inspector.button("Attempt 1").click();
    await headers.getByText(/^\+/).waitFor({ state: "detached" });
  });

  it("is copied as a link to it, and as Markdown (I8)", async () => {
    const { inspector } = shared();
    const id = await deliveryOf("/unauth");
    await inspector.show(`#/deliveries/${id}`);
    await inspector.button("Copy link").click();
    await expect.poll(() => inspector.clipboard).toBe(`${shared().mock.inspectorUrl}#/deliveries/${id}`);
    await inspector.button("Copy as Markdown").click();
    await expect.poll(() => inspector.clipboard).toContain(`### task.running → ${shared().urls["/unauth"]}`);
    expect(await inspector.clipboard).toMatch(/\| 1 \| .* UTC \| 401 \| [\d.]+ m?s \| status 401 \|/);
  });
});

it("every view has its tools in two lines at most at 1024 pixels, and a hint of more tabs on a phone (I11)", async () => {
  const { inspector } = shared();
  const { page } = inspector;
  for (const view of ["tasks", "deliveries", "requests"]) {
    await inspector.show(`#/${view}`, small);
    await page.getByRole("heading", { level: 2, name: new RegExp(view, "i") }).waitFor();
    // The filters of a view may take a second line, so that their words can be read.
    for (const [bar, heightMax] of [
      [".bar", 60],
      [".view > .title-bar", 90],
    ] as const)
      expect((await page.locator(bar).boundingBox())?.height, `${view} ${bar}`).toBeLessThan(heightMax);
  }
  await page.setViewportSize(phone);
  const mask = await page.evaluate('getComputedStyle(document.querySelector(".views")).maskImage');
  expect(mask).toContain("gradient");
});
