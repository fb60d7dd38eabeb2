import { createMockServer } from "@workspace-tasks/mock-server";
import { expect } from "vitest";
import { callGraphql, exchangeApiKey, workspaceToken } from "../../support/mock-client.ts";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { receiverUrls, rejectedDelivery } from "./support/inspector-fixture.ts";
import { InspectorPage, phone, shareResetInspector } from "./support/inspector-page.ts";

const shared = shareResetInspector();

describe("the overview of the inspector", () => {
  it("counts requests, and what a key has used of its rate limit until its window ends", async () => {
    const { mock, inspector } = shared();
    const { page } = inspector;
    const token = await workspaceToken(mock);
    await inspector.show("#/overview");
    await page.getByText("No key has used its rate limit in this window.").waitFor();
    const { requests: before } = await mock.control.getOverview();
    for (let sent = 0; sent < 3; sent++) await callGraphql(mock, "{ me { __typename } }", { token });
    await page.getByRole("link", { name: `${before + 3} requests` }).waitFor();
    await page.getByRole("meter").and(page.locator("[value='3']")).waitFor();
    await inspector.button("+1m: advance the clock").click();
    await page.getByText("No key has used its rate limit in this window.").waitFor();
  });
});

describe("the tasks view of the inspector", () => {
  it("shows a task from its start through its stages to its end as the clock advances", async () => {
    const { mock, inspector } = shared();
    const { detail, rows, page } = inspector;
    await mock.control.createEndpoint({ url: receiverUrls.billing });
    await inspector.show("#/tasks");
    await page.getByText("No task. Start one above").waitFor();
    await page.getByLabel("type of the new task").selectOption("TAX_REVIEW");
    await inspector.button("Start task").click();

    const stages = detail.getByRole("list", { name: "Stages" }).getByRole("listitem");
    await stages.filter({ hasText: "reconciliation" }).getByText("so far").waitFor();
    await stages.filter({ hasText: "review" }).getByText("in 1 s").waitFor();
    await rows.filter({ hasText: "RUNNING" }).waitFor();
    await page.getByRole("button", { name: /^To next/ }).click();
    await stages.filter({ hasText: "review" }).getByText("so far").waitFor();
    expect(await stages.filter({ hasText: "reconciliation" }).textContent()).toContain("1 s");

    await inspector.button("+1m: advance the clock").click();
    await rows.filter({ hasText: "COMPLETED" }).waitFor();
    const events = detail.locator(".task-events > li");
    await events
      .filter({ hasText: /\dtask\.completed/ })
      .getByText("delivered")
      .waitFor();
    await expect.poll(() => events.count()).toBe(4);
  });

  it("fails, restarts and completes a manual task", async () => {
    const { mock, inspector } = shared();
    const { detail } = inspector;
    await inspector.show("#/tasks");
    await inspector.button("Start manual task").click();
    await detail.getByRole("textbox", { name: "stage" }).fill("a stage of my own");
    await inspector.button("start the stage").click();
    await detail.getByText("a stage of my own").waitFor();
    await inspector.button("finish the stage").click();
    await detail.getByText("so far").waitFor({ state: "detached" });
    await inspector.button("Fail").click();
    await detail.getByText("failed in the inspector").waitFor();
    await inspector.button("Run again").click();
    await inspector.button("Complete").click();
    await inspector.rows.getByText("COMPLETED").waitFor();
    const [task] = (await mock.control.listTasks()).data;
    expect(task).toMatchObject({ status: "COMPLETED", stages: 1, stagesDone: 1 });
  });
});

describe("the deliveries view of the inspector", () => {
  it("shows the exact body, as text, as hex and in a curl command", async () => {
    const { mock, inspector } = shared();
    const { deliveryId } = await rejectedDelivery(shared());
    await inspector.show(`#/deliveries/${deliveryId}`);
    const [attempt] = (await mock.control.getDelivery(deliveryId)).attempts;
    const body = attempt?.requestBody ?? "";
    const shown = inspector.detail.getByRole("group", { name: "Body as", exact: true });
    await shown.getByText("Exact").click();
    expect(await inspector.detail.locator(".body-text pre").last().textContent()).toBe(body);
    await inspector.detail.getByText(`${Buffer.byteLength(body)} bytes`).waitFor();
    await shown.getByText("Indented").click();
    const json = inspector.detail.getByRole("region", { name: "Body", exact: true });
    await json.getByText('"taskType": "BINDER"').waitFor();
    expect(await json.locator(".string").getByText('"BINDER"').count()).toBe(1);
    await shown.getByText("Hex").click();
    await inspector.detail.getByText("0000 7b 22 69 64").waitFor();
    await inspector.button("Copy as curl").click();
    await inspector.button("Copied").waitFor();
    const copied = await inspector.clipboard;
    expect(copied).toContain(body);
    expect(copied).toContain(`webhook-signature: ${attempt?.requestHeaders["webhook-signature"]}`);
  });
});

describe("the signatures view of the inspector", () => {
  it("reports a valid attempt, and the mistake in an altered paste", async () => {
    const { mock, inspector } = shared();
    const { page } = inspector;
    const { deliveryId } = await rejectedDelivery(shared());
    await inspector.show(`#/deliveries/${deliveryId}`);
    await page.getByRole("link", { name: "Check the signature" }).click();
    await page.getByText("The signature is right, but its time is far").waitFor();

    const [attempt] = (await mock.control.getDelivery(deliveryId)).attempts;
    const { requestHeaders = {}, requestBody = "" } = attempt ?? {};
    const head = Object.entries(requestHeaders).map(([name, value]) => `${name}: ${value}`);
    const paste = (body: string) =>
      page.getByLabel("Paste a whole request").fill([...head, "", body].join("\n"));
    const found = page.locator("[data-code]");

    await paste(JSON.stringify(JSON.parse(requestBody), null, 2));
    await found.and(page.locator("[data-code=BODY_REWRITTEN]")).waitFor();
    await paste(requestBody.replace("BINDER", "BLINDER"));
    await page.getByText('the mock sent "INDER').waitFor();
    const codes = await found.evaluateAll((notices) => notices.map(({ dataset }) => dataset["code"]));
    // The mock of this fixture has a virtual clock.
    expect(codes).toEqual(["BODY_ALTERED", "TIMESTAMP_VIRTUAL"]);
    const difference = page.getByRole("region", { name: "Sent and received body" });
    await difference.getByText('-  "taskType": "BINDER"').waitFor();
    await difference.getByText('+  "taskType": "BLINDER"').waitFor();

    await paste(requestBody);
    await page.getByText("The signature is right, but its time is far").waitFor();
    await page.getByLabel(/^Secret/).fill("whsec_c29tZSBvdGhlciBzZWNyZXQgb2Ygc29tZW9uZQ==");
    await page.locator("[data-code=SECRET_WRONG]").waitFor();
    await inspector.button("Clear").click();
    await page.getByText("open an attempt in Deliveries").waitFor();
  });

  it("reports the fault that altered an attempt", async () => {
    const { mock, inspector } = shared();
    await mock.control.setFaults({ deliveries: [{ instructions: [{ kind: "wrong-signature" }] }] });
    const { deliveryId } = await rejectedDelivery(shared());
    await inspector.show(`#/signatures/${deliveryId}%2F1`);
    await inspector.page.locator("[data-code=ALTERED_BY_FAULT]").waitFor();
    await inspector.page.getByText("A receiver must reject it.").waitFor();
  });
});

describe("the faults view of the inspector", () => {
  it("adds the contract's faults, and ends one rule or all faults", async () => {
    const { inspector } = shared();
    const { page } = inspector;
    await inspector.show("#/faults");
    await inspector.button("Add: On calls to the API").click();
    await inspector.button("End the rule: 429 of the service, retry after 1 s, the next time").click();
    await page.getByText("No fault is active.").waitFor();
    await inspector.button("Add the contract's faults").click();
    await page.getByText("20 % of the time").first().waitFor();
    await inspector.button("End all faults").click();
    await page.getByText("Fired (0)").waitFor();
  });

  it("limits a fault to an operation, rejects what is no frequency, and keeps focus and place of its button", async () => {
    const { inspector } = shared();
    const { page } = inspector;
    await inspector.show("#/faults");
    const form = page.getByRole("region", { name: "On calls to the API" });
    const often = form.getByLabel(/^How often/);
    await often.fill("200 %");
    const add = inspector.button("Add: On calls to the API");
    const before = await add.boundingBox();
    await add.click();
    await page
      .getByText("expected a count from 1 to 10000, such as 3, or a percentage, such as 20 %")
      .waitFor();
    await often.fill("20 %");
    await form.getByLabel("Operation").selectOption("createClient");
    await add.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "1 fault is active" }).waitFor();
    await page.getByText("20 % of the time createClient").waitFor();
    expect(await add.boundingBox()).toEqual(before);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Add");
  });
});

describe("the requests view of the inspector", () => {
  it("shows the reason of a rejection, and redacts the key", async () => {
    const { mock, inspector } = shared();
    const { page, rows } = inspector;
    await inspector.show("#/requests");
    await exchangeApiKey(mock);
    await callGraphql(mock, "mutation Sweep { deleteWebhookEndpoint(endpointId: 1) }").catch(() => undefined);
    await rows.filter({ hasText: "Sweep" }).click();
    await inspector.detail.getByText("no authorization header").waitFor();
    await page.getByLabel("requests that contain").fill("exchange");
    await rows.filter({ hasText: "Sweep" }).waitFor({ state: "detached" });
    await rows.filter({ hasText: "exchangeSurface" }).click();
    await inspector.detail.getByText("keys and tokens are redacted").waitFor();
    expect(await page.content()).not.toContain(mock.apiKey);
  });
});

/** The requests of a page that get secrets of an endpoint. */
function secretsFetched({ page }: InspectorPage): readonly string[] {
  const fetched: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/\/endpoints\/./.test(pathname)) fetched.push(pathname);
  });
  return fetched;
}

describe("signing secrets in the inspector", () => {
  it("are fetched only on request, and can be hidden again", async () => {
    const { inspector } = shared();
    const { page } = inspector;
    const { signingSecret } = await rejectedDelivery(shared());
    const fetched = secretsFetched(inspector);
    for (const view of ["overview", "tasks", "deliveries", "signatures", "requests", "faults", "endpoints"]) {
      await inspector.show(`#/${view}`);
      await page.getByRole("heading", { level: 2, name: new RegExp(view, "i") }).waitFor();
      expect(await page.content()).not.toContain(signingSecret);
    }
    expect(fetched).toEqual([]);
    await inspector.rows.first().click();
    await inspector.button("Show the secrets").click();
    await page.getByText(signingSecret).waitFor();
    expect(fetched).toHaveLength(1);
    await inspector.button("Hide the secrets").click();
    expect(await page.content()).not.toContain(signingSecret);
  });

  it("are fetched of one endpoint only to check the signature of its delivery", async () => {
    const { mock, inspector } = shared();
    const { page } = inspector;
    await mock.control.createEndpoint({ url: receiverUrls.portal });
    const { id, deliveryId } = await rejectedDelivery(shared());
    await inspector.show("#/signatures");
    const fetched = secretsFetched(inspector);
    const [attempt] = (await mock.control.getDelivery(deliveryId)).attempts;
    await page.getByLabel(/^Secret/).fill("whsec_c29tZSBvdGhlciBzZWNyZXQgb2Ygc29tZW9uZQ==");
    await page
      .getByLabel("Paste a whole request")
      .fill(`webhook-id: ${deliveryId}\n\n${attempt?.requestBody}`);
    await page.getByText("webhook-signature is missing").waitFor();
    expect(fetched).toEqual([]);
    await inspector.button("Clear").click();
    await inspector.show(`#/signatures/${deliveryId}%2F1`);
    await page.getByText("The signature is right").waitFor();
    expect(fetched).toEqual([expect.stringContaining(id)]);
    expect(await page.locator(".items").textContent()).not.toContain(receiverUrls.portal);
  });
});

describe("markup in data of the inspector", () => {
  const markup = `<img src=x onerror="document.title='owned'"><b>bold</b>`;

  it("is shown as text in every view", async () => {
    const { mock, inspector } = shared();
    const { page } = inspector;
    const { taskId } = await rejectedDelivery(shared());
    await mock.control.setTaskStatus(taskId, { status: "FAILED", errorMessage: markup });
    await mock.control.addCatalogEvent({ name: "task.markup" });
    await mock.control.sendEvent({ name: "task.markup", payload: { text: markup } });
    await mock.clock.advance(0);
    await callGraphql(mock, "query ($x: String!) { me { __typename } }", { variables: { x: markup } }).catch(
      () => undefined,
    );
    const [delivery] = (await mock.control.listDeliveries({ order: "desc" })).data;
    const [request] = (await mock.control.listRequests({ order: "desc" })).data;
    for (const hash of [
      `#/tasks/${taskId}`,
      `#/deliveries/${delivery?.id}`,
      `#/signatures/${delivery?.id}%2F1`,
      `#/requests/${request?.sequence}`,
    ]) {
      await inspector.show(hash);
      await page.getByText("<b>bold</b>").first().waitFor();
      expect(await page.locator("img, main b:text-is('bold')").count(), hash).toBe(0);
      expect(await page.title()).not.toBe("owned");
    }
  });

  it("cannot run, because the content security policy forbids inline code", async () => {
    await using inspector = await InspectorPage.open(shared().mock);
    const { page, complaints } = inspector;
    await page.evaluate(`
      document.body.insertAdjacentHTML("beforeend", ${JSON.stringify(markup)});
      const script = document.createElement("script");
      script.textContent = "document.title = 'owned'";
      document.body.append(script);
    `);
    await expect
      .poll(() => complaints.filter((text) => text.includes("Content Security Policy")).length)
      .toBeGreaterThan(1);
    expect(await page.title()).toBe("Overview · workspace-tasks mock");
    complaints.length = 0;
  });
});

describe("the keyboard in the inspector", () => {
  it("reaches every view, every row and its actions", async () => {
    const { mock, inspector } = shared();
    const { page } = inspector;
    const { keyboard } = page;
    const { deliveryId } = await rejectedDelivery(shared());
    await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    await mock.clock.advance(0);
    const selected = page.getByRole("option", { selected: true }).and(page.locator(".row"));

    await keyboard.press("3");
    await page.getByRole("heading", { level: 2, name: "Deliveries" }).waitFor();
    await inspector.rows.nth(1).waitFor();
    await keyboard.press("j");
    await keyboard.press("j");
    await expect.poll(() => selected.getAttribute("id")).toBe(`row-${deliveryId}`);
    await keyboard.press("k");
    await expect.poll(() => selected.getAttribute("id")).not.toBe(`row-${deliveryId}`);
    await page.getByRole("listbox").focus();
    await keyboard.press("End");
    await expect.poll(() => selected.getAttribute("id")).toBe(`row-${deliveryId}`);
    await expect
      .poll(() => page.getByRole("listbox").getAttribute("aria-activedescendant"))
      .toBe(`row-${deliveryId}`);

    await inspector.button("Attempt 1").waitFor();
    await keyboard.press("r");
    await inspector.button("Attempt 2").waitFor();
    await keyboard.press("n");
    await inspector.button("Attempt 3").waitFor();
    await keyboard.press("Escape");
    await inspector.detail.waitFor({ state: "detached" });

    await keyboard.press("f");
    await keyboard.type("task.failed?1");
    expect(await page.getByLabel("deliveries that contain").inputValue()).toBe("task.failed?1");
    await page.getByText("Nothing matches the filter.").waitFor();
    await page.getByLabel("deliveries that contain").blur();
    await keyboard.press("/");
    await keyboard.type("task.running");
    const results = page.getByRole("navigation", { name: "Search results" });
    // Until now the links are of what was typed so far.
    await results.locator("a[href$='text=task.running']").first().waitFor();
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowDown");
    await expect.poll(() => results.locator(":focus").getAttribute("href")).toContain(deliveryId);
    await keyboard.press("Enter");
    await results.waitFor({ state: "hidden" });
    await inspector.button("Attempt 3").waitFor();
    await keyboard.press("?");
    await page.getByRole("dialog").getByText("replay the selected delivery").waitFor();
    await keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  });
});

describe("the search of the inspector", () => {
  it("keeps the focus in it when the link that has it is not found any more", async () => {
    const { inspector } = shared();
    const { page } = inspector;
    const field = page.getByRole("searchbox", { name: "Search everything" });
    const links = page.getByRole("navigation", { name: "Search results" }).getByRole("link");
    await field.fill("none");
    await links.filter({ hasText: "All tasks" }).waitFor();
    let respond = () => {};
    const held = new Promise<void>((resolve) => {
      respond = resolve;
    });
    await page.route("**/v1/search?*", (route) => held.then(() => route.continue()));
    const searching = page.waitForRequest("**/v1/search?*");
    await field.fill("nothing");
    await searching;
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => links.first().evaluate((link) => link.matches(":focus"))).toBe(true);
    respond();
    await page.locator("a[href$='text=nothing']").first().waitFor();
    await expect.poll(() => field.evaluate((input) => input.matches(":focus"))).toBe(true);
    await page.unroute("**/v1/search?*");
    await field.fill("");
    await field.blur();
  });
});

describe("the page of the inspector", () => {
  it("says why a read failed, reads again, and shows no diagnosis before it has the secrets", async () => {
    const { inspector } = shared();
    const { page, complaints } = inspector;
    const { deliveryId } = await rejectedDelivery(shared());
    const endpoints = /\/v1\/endpoints$/;
    await page.route(endpoints, (route) => route.fulfill({ status: 502, body: "<h1>Bad Gateway</h1>" }));
    await inspector.show(`#/signatures/${deliveryId}%2F1`);
    await page.getByText(/Not everything could be read: expected a mock at .*, got HTTP 502/).waitFor();
    await expect.poll(() => page.getByLabel("webhook-id", { exact: true }).inputValue()).toBe(deliveryId);
    expect(await page.locator("[data-code]").count()).toBe(0);
    await page.unroute(endpoints);
    await page.getByText("The signature is right, but its time is far").waitFor();
    await page.getByText("Not everything could be read").waitFor({ state: "detached" });
    expect(complaints.splice(0).filter((text) => !text.includes("502"))).toEqual([]);
  });

  it("shows every filter, and removes one that has no field", async () => {
    const { inspector } = shared();
    const { page } = inspector;
    const { id } = await rejectedDelivery(shared());
    await inspector.show(`#/deliveries?endpointId=${id}&subject=unknown&status=nonsense`, phone);
    await inspector.rows.first().waitFor();
    await expect.poll(() => page.getByLabel("endpoint", { exact: true }).inputValue()).toBe(id);
    expect(await page.getByLabel("endpoint", { exact: true }).isVisible()).toBe(true);
    expect(await page.getByLabel("response", { exact: true }).isVisible()).toBe(false);
    expect(await page.getByLabel("status", { exact: true }).inputValue()).toBe("");
    await page.getByRole("button", { name: "subject unknown ✕, remove the filter" }).click();
    await expect.poll(() => new URL(page.url()).hash).not.toContain("subject");
  });

  it("resets the mock after a second press", async () => {
    const { mock, inspector } = shared();
    await rejectedDelivery(shared());
    await inspector.show("#/overview");
    await inspector.page.getByRole("link", { name: "1 tasks" }).waitFor();
    await inspector.button("Reset the mock").click();
    expect((await mock.control.listTasks()).data).toHaveLength(1);
    await inspector.button("Press again to confirm").click();
    await inspector.page.getByRole("link", { name: "0 tasks" }).waitFor();
    expect((await mock.control.listTasks()).data).toEqual([]);
  });

  it("shows a lost connection, and the next mock on the same port", async () => {
    const first = await createMockServer({ clock: "virtual" });
    const inspector = await InspectorPage.open(first, { hash: "#/tasks" });
    const { page, complaints } = inspector;
    const port = Number(new URL(first.baseUrl).port);
    await first.close();
    await page.getByRole("alert").filter({ hasText: "The mock does not respond." }).waitFor();
    expect(await inspector.button("Start task").isDisabled()).toBe(true);
    await page.getByRole("link", { name: /^Deliveries/ }).click();
    await page.getByText("Not read yet: the mock does not respond.").waitFor();
    await page.getByRole("link", { name: /^Tasks/ }).click();
    await using second = await createMockServer({ clock: "virtual", port });
    await second.control.startTask({ taskType: "TAX_ADVISOR", progression: "manual" });
    await inspector.rows.filter({ hasText: "TAX_ADVISOR" }).waitFor();
    await page.getByRole("status").getByText("live").waitFor();
    expect(complaints.splice(0).filter((text) => !text.includes("ERR_"))).toEqual([]);
    await inspector[Symbol.asyncDispose]();
  });

  it("has no buttons for a real clock, and keeps what is typed while the clock ticks", async () => {
    await using mock = await createMockServer();
    await using inspector = await InspectorPage.open(mock, { hash: "#/faults" });
    const { page } = inspector;
    await page.getByText("real clock", { exact: true }).waitFor();
    expect(await inspector.button("+1m: advance the clock").count()).toBe(0);
    const count = page.getByRole("region", { name: "On calls to the API" }).getByLabel(/^How often/);
    await count.fill("3");
    const time = page.locator(".clock time");
    const before = await time.textContent();
    await expect.poll(() => time.textContent()).not.toBe(before);
    expect(await count.inputValue()).toBe("3");
  });
});
