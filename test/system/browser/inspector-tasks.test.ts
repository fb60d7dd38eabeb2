import { readFileSync } from "node:fs";
import { createMockServer } from "@workspace-tasks/mock-server";
import { expect } from "vitest";
import { callGraphql, jsonPost, workspaceToken } from "../../support/mock-client.ts";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { sharedChromium } from "./support/chromium.ts";
import { receiverUrls, rejectedDelivery } from "./support/inspector-fixture.ts";
import { InspectorPage, labelsStay, phone, shareResetInspector } from "./support/inspector-page.ts";

// The tasks of a person who debugs an integration, each without a terminal.

const shared = shareResetInspector({ hostsAllowed: ["devbox.example"] });

async function show(hash = "#/overview", size?: typeof phone) {
  const { mock, respond, inspector } = shared();
  const { page } = inspector;
  await inspector.show(hash, size);
  const view = (name: string) =>
    page.getByRole("navigation").getByRole("link", { name: new RegExp(`^${name}`) });
  return { mock, respond, inspector, page, view };
}

describe("tasks of a developer in the inspector", () => {
  it("why a delivery was rejected is read at once, and it is replayed by a key", async () => {
    await rejectedDelivery(shared());
    const { respond, inspector, page } = await show();
    const rejected = inspector.panel("Rejected now");
    await rejected.getByText("2/8 · 5 s").waitFor();
    await page.getByRole("link", { name: "Deliveries 1 rejected" }).waitFor();
    await rejected.getByRole("link", { name: "task.running" }).click();
    const words = inspector.detail.locator(".notice").getByText('{"error":"the database is locked"}');
    expect((await words.boundingBox())?.y).toBeLessThan(600);
    await inspector.detail.getByRole("heading", { level: 4, name: "Attempt 1 500" }).waitFor();
    respond("billing", 204);
    await page.keyboard.press("r");
    await inspector.button("Attempt 2").waitFor();
    await inspector.detail.getByText("delivered").first().waitFor();
  });

  it("the next three calls get the service's own 429", async () => {
    const token = await workspaceToken(shared().mock);
    const { mock, inspector, page, view } = await show();
    await view("Faults").click();
    const form = page.getByRole("region", { name: "On calls to the API" });
    await form.getByLabel(/^How often/).fill("3");
    await inspector.button("Add: On calls to the API").click();
    await page.getByText("the next 3 times").waitFor();
    await page.getByRole("link", { name: "3 faults are active" }).waitFor();
    for (const expected of [429, 429, 429, 200]) {
      const request = jsonPost({ query: "{ me { __typename } }" }, token);
      const response = await mock.fetch("/graphql", request);
      const { status, headers } = response;
      expect([status, headers.get("retry-after")]).toEqual([expected, expected === 429 ? "1" : null]);
      expect((await response.text()).includes('"RATE_LIMITED"')).toBe(expected === 429);
    }
    await page.getByText("Fired (3)").waitFor();
  });

  it("all events of a task are found by an id from a log", async () => {
    const { taskId } = await rejectedDelivery(shared());
    await shared().mock.control.setTaskStatus(taskId, { status: "COMPLETED" });
    const { inspector, page } = await show("#/faults");
    await page.keyboard.press("/");
    await page.getByRole("searchbox", { name: "Search everything" }).fill(taskId);
    await page.keyboard.press("Enter");
    await inspector.detail.getByText("task.completed").waitFor();
    await inspector.detail.getByText("task.running").waitFor();
  });

  it("a colleague gets the whole state as a file, and restores it", async () => {
    await rejectedDelivery(shared());
    const { mock, inspector, page, view } = await show();
    await view("Setup").click();
    const download = page.waitForEvent("download");
    await inspector.button("Export state").click();
    const file = await (await download).path();
    expect(JSON.parse(readFileSync(file, "utf8")).state.deliveries).toHaveLength(1);
    await mock.control.reset();
    await view("Setup").click();
    await page.getByLabel("File to restore").setInputFiles(file);
    await inspector.button("Replace state by the file").click();
    await inspector.button("Press again to confirm").click();
    await page.getByRole("link", { name: "Deliveries 1 rejected" }).waitFor();
  });

  it("a request is copied as a curl command that works", async () => {
    const token = await workspaceToken(shared().mock);
    await callGraphql(shared().mock, "query Mine { me { __typename } }", { token });
    const { inspector, page, view } = await show();
    await view("Requests").click();
    await inspector.rows.filter({ hasText: "Mine" }).click();
    await inspector.button("Copy as curl").click();
    await inspector.button("Copied").waitFor();
    const command = await inspector.clipboard;
    const authorization = /authorization: (Bearer [\w.-]+)/.exec(command)?.[1] ?? "";
    expect(authorization).not.toContain(token);
    const [, url = "", body = ""] = /POST \\\n {2}'([^']+)'[\s\S]*--data-raw '([^']+)'/.exec(command) ?? [];
    const headers = { "content-type": "application/json", authorization };
    const response = await fetch(url, { method: "POST", headers, body });
    expect(await response.json()).toEqual({ data: { me: { __typename: "WorkspaceUser" } } });
    await page.getByRole("link", { name: "Open in Run" }).click();
    await page.locator(".cm-content").getByText("query Mine").waitFor();
  });
});

describe("the editor of the inspector", () => {
  it("takes what is typed quickly, and keeps it and the response while another view is open", async () => {
    const { inspector, page, view } = await show("#/run", phone);
    const editor = page.locator(".cm-content");
    await editor.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.press("Delete");
    await page.keyboard.type("{ me { __typename } } # mine");
    await editor.getByText("{ me { __typename } } # mine").waitFor();
    await page.getByLabel("Variables, as JSON").fill("{nope");
    await inspector.button("Run").click();
    await page.getByText("the variables are not JSON").waitFor();
    await page.getByLabel("Variables, as JSON").fill("");
    await page.getByLabel("Variables, as JSON").press("Control+Enter");
    const response = page.getByRole("region", { name: "Response", exact: true });
    await response.getByText('"__typename": "WorkspaceUser"').waitFor();
    // On a phone the response is below the document: it is scrolled into sight.
    expect((await response.boundingBox())?.y).toBeLessThan(600);
    await view("Tasks").click();
    await page.getByRole("heading", { level: 2, name: "Tasks" }).waitFor();
    await page.goBack();
    await editor.getByText("{ me { __typename } } # mine").waitFor();
    await response.getByText('"__typename": "WorkspaceUser"').waitFor();
    await page.getByLabel("operation", { exact: true }).selectOption("Me");
    await editor.getByText("query Me").waitFor();
  });

  it("shows the start of a response of megabytes, with each value as it was written", async () => {
    const { inspector, page } = await show("#/run");
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text: "x".repeat(100) }));
    const body = `{"exact":12345678901234567890,"rows":${JSON.stringify(rows)}}`;
    await page.route("**/graphql", (route) => route.fulfill({ contentType: "application/json", body }));
    await inspector.button("Run").click();
    const json = page.getByRole("region", { name: "Response body" });
    await json.getByText('"exact": 12345678901234567890').waitFor();
    expect(await page.locator("*").count()).toBeLessThan(2_000);
    await json.getByText(/\d+ characters more\./).waitFor();
    await page.getByRole("group", { name: "Response body as" }).getByText("Exact").click();
    await json.getByText('"exact":12345678901234567890').waitFor();
    expect((await json.textContent())?.length).toBeLessThan(100_000);
    await page.unroute("**/graphql");
  });
});

describe("the first minute in the inspector", () => {
  it("shows URL, key and snippets of a new mock, creates an endpoint, sends it an event and replays it", async () => {
    const { mock, respond, inspector, page, view } = await show();
    await inspector.button("Copy the API key").click();
    await expect.poll(() => inspector.clipboard).toBe(mock.apiKey);
    const snippet = page.getByRole("region", { name: "Snippets" });
    await snippet.getByText(mock.baseUrl).waitFor();
    await page.getByRole("button", { name: "Receiver" }).click();
    await snippet.getByText("createReceiver").first().waitFor();

    respond("billing", 500);
    await view("Endpoints").click();
    await page.getByRole("link", { name: "New endpoint" }).click();
    await page.getByLabel("URL of the receiver").fill(receiverUrls.billing);
    await inspector.button("Create endpoint").click();
    await page.getByRole("link", { name: "Send an event" }).click();
    await page.getByLabel("event to send").selectOption("documents.synced");
    await page.getByLabel(/^Payload/).fill('{"clientId":"of-this-test"}');
    await inspector.button("Send event").click();
    await page.getByRole("link", { name: "Its deliveries" }).first().click();
    await inspector.rows.getByText("documents.synced").waitFor();
    await inspector.button("Replay rejected (1)").waitFor();
    respond("billing", 204);
    await inspector.button("Replay rejected (1)").click();
    await inspector.button("Press again to confirm").click();
    await inspector.rows.getByText("delivered").waitFor();
    await page.getByRole("alert").getByText("1 replay started").waitFor();
    const [delivery] = (await mock.control.listDeliveries()).data;
    expect((await mock.control.getDelivery(delivery?.id ?? "")).attempts[0]?.requestBody).toContain(
      "of-this-test",
    );

    await view("Endpoints").click();
    await inspector.rows.first().click();
    const endpoint = page.getByRole("region", { name: receiverUrls.billing });
    await endpoint.getByRole("button", { name: "Rotate secret" }).click();
    await endpoint.getByText("still valid, ends in 1 d").waitFor();
    await endpoint.getByRole("button", { name: "Pause" }).click();
    await endpoint.getByRole("button", { name: "Resume" }).waitFor();
    await endpoint.getByRole("button", { name: /^Delete/ }).click();
    await inspector.button("Press again to confirm").click();
    await page.getByText("No endpoint yet.").waitFor();

    // How to connect is at hand later, too.
    await view("Overview").click();
    await page.getByRole("link", { name: "Connect" }).click();
    await inspector.button("Copy the partner key").click();
    await expect.poll(() => inspector.clipboard).toMatch(/^wtp_/);
  });
});

describe("the inspector", () => {
  it("works in the seventh tab, because hidden tabs hold no connection", async () => {
    const { mock, inspector } = shared();
    const context = inspector.page.context();
    const openTab = async (hash: string, isHidden: boolean) => {
      const page = await context.newPage();
      if (isHidden)
        await page.addInitScript(
          "Object.defineProperty(document, 'hidden', { configurable: true, get: () => window.isHidden ?? true })",
        );
      await page.goto(`${mock.inspectorUrl}${hash}`);
      await page
        .getByRole("status")
        .getByText(isHidden ? "paused" : "live")
        .waitFor();
      return page;
    };
    const hidden = await Promise.all(Array.from({ length: 5 }, () => openTab("", true)));
    const last = await openTab("#/tasks", false);
    await last.getByText("No task. Start one above").waitFor();
    // A tab that is shown again catches up.
    const [shown = last] = hidden;
    await shown.bringToFront();
    await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    await shown.evaluate("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))");
    await shown.getByRole("link", { name: "1 tasks" }).waitFor();
    for (const page of [...hidden, last]) await page.close();
    await inspector.page.bringToFront();
  });

  it("checks signatures and copies over plain http from another host", async () => {
    const { deliveryId } = await rejectedDelivery(shared());
    const { port } = new URL(shared().mock.baseUrl);
    const page = await (await sharedChromium()).newPage();
    await page.addInitScript(labelsStay());
    await page.goto(`http://devbox.example:${port}/_mock/#/signatures/${deliveryId}%2F1`);
    expect(await page.evaluate("isSecureContext")).toBe(false);
    await page.getByText("The signature is right").waitFor();
    await page.goto(`http://devbox.example:${port}/_mock/#/deliveries/${deliveryId}`);
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    await page.close();
  });

  it("returns from a row to its list with the back button of a phone, and names unknown addresses", async () => {
    const { deliveryId } = await rejectedDelivery(shared());
    const { inspector, page } = await show("#/deliveries?text=task", phone);
    await inspector.rows.first().click();
    await inspector.button("Attempt 1").waitFor();
    expect(await page.getByRole("listbox").isVisible()).toBe(false);
    await page.goBack();
    await inspector.detail.waitFor({ state: "detached" });
    expect(new URL(page.url()).hash).toBe("#/deliveries?text=task");
    for (const attempt of ["none%2F1", `${deliveryId}%2F9`]) {
      await inspector.show("#/nowhere");
      await page.getByText("There is no view “nowhere”.").waitFor();
      await inspector.show(`#/signatures/${attempt}`);
      await page.getByText("The mock has no such attempt").waitFor();
    }
    // The browser itself logs the status of the response.
    expect(inspector.complaints.splice(0)).toEqual([expect.stringContaining("404")]);
  });

  it("says so when a view cannot be loaded, because the mock was replaced by another version", async () => {
    await using inspector = await InspectorPage.open(shared().mock);
    const { page, complaints } = inspector;
    await page.route(/assets\/run-.*\.js/, (route) => route.fulfill({ status: 404 }));
    await inspector.show("#/run");
    await page.getByText("This view could not be loaded.").waitFor();
    await page.unroute(/assets\/run-.*\.js/);
    await inspector.button("Load the page again").click();
    await page.locator(".cm-content").waitFor();
    expect(complaints.splice(0).filter((text) => !text.includes("404"))).toEqual([]);
  });

  it("creates a world with a page of its own, which survives that the world is dropped", async () => {
    await using mock = await createMockServer({ clock: "virtual" });
    await using inspector = await InspectorPage.open(mock, { hash: "#/setup" });
    const { page } = inspector;
    await page.getByLabel("Name of a new world").fill("mine");
    await inspector.button("Create empty").click();
    await page.getByRole("link", { name: "mine" }).click();
    await page.getByRole("heading", { level: 1, name: "mine" }).waitFor();
    await page.getByRole("button", { name: "Start a task" }).click();
    await page.getByRole("heading", { name: "TAX_PREP" }).waitFor();
    expect((await mock.control.listTasks()).data).toEqual([]);

    await mock.control.dropWorld("mine");
    await page.getByRole("alert").filter({ hasText: "The mock does not respond." }).waitFor();
    await mock.control.createWorld({ name: "mine" });
    await page.getByRole("status").getByText("live").waitFor();
    // The task of the world before, which the page reads again.
    await page.getByText("There is no task with this id.").waitFor();
    // What the browser prints may arrive until then.
    await page.context().close();
    expect(inspector.complaints.splice(0).filter((text) => !text.includes("404"))).toEqual([]);
  });
});
