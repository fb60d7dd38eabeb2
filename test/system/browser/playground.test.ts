import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { sampleOutputs } from "../../integration/docs/sample-outputs.ts";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { sharedChromium } from "./support/chromium.ts";
import { phone, widescreen } from "./support/inspector-page.ts";
import { PlaygroundPage, servePlayground } from "./support/playground-site.ts";
import type { StaticSite } from "./support/static-site.ts";
import { violations } from "./support/violations.ts";

let site: StaticSite;
/** Each run of a program gets a new world; a test that changes more than a program opens a page of its own. */
let playground: PlaygroundPage;
beforeAll(async () => {
  site = await servePlayground();
  playground = await PlaygroundPage.open(site);
});
afterEach(() => playground.throwComplaints());
afterAll(async () => {
  await playground[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

describe("the playground", () => {
  it("runs each sample with its output", async () => {
    const { page, output } = playground;
    for (const [title, lines] of Object.entries(sampleOutputs)) {
      await page.getByRole("button", { name: title, exact: true }).click();
      await playground.run();
      for (const line of lines) await output.getByText(line).first().waitFor();
      await playground.says("The program has ended.");
    }
  });

  it("shows what a program did in the inspector, whose controls move the same world", async () => {
    await playground.write('await mock.control.startTask({ taskType: "BINDER" });');
    await playground.run();
    await playground.says("The program has ended.");
    const frame = playground.inspector;
    await frame.getByRole("link", { name: /^Tasks/ }).click();
    await frame.locator(".row").filter({ hasText: "RUNNING" }).waitFor();
    await frame.getByRole("button", { name: "+1m: advance the clock" }).click();
    await frame.locator(".row").filter({ hasText: "COMPLETED" }).waitFor();
  });

  it("shows nothing that needs a port, where nothing listens", async () => {
    await using playground = await PlaygroundPage.open(site);
    const frame = playground.inspector;
    await frame.getByRole("button", { name: "Start a task" }).waitFor();
    expect(await frame.getByRole("link", { name: "Connect" }).count()).toBe(0);
    await frame.getByRole("link", { name: /^Setup/ }).click();
    await frame.getByRole("region", { name: "First steps" }).waitFor();
    expect(await frame.locator("body").textContent()).not.toMatch(/curl|base URL/i);
  });

  it("opens at its top on a phone, while its inspector starts", async () => {
    await using playground = await PlaygroundPage.open(site, phone);
    await playground.inspector.getByRole("button", { name: "Start a task" }).waitFor();
    expect(await playground.page.evaluate("scrollY")).toBe(0);
  });

  it("ends a program with an endless loop when it is told to, and runs the next one", async () => {
    await playground.write('console.log("it begins"); for (;;) {}');
    await playground.run();
    await playground.output.getByText("it begins").waitFor();
    await playground.page.getByRole("button", { name: "Stop" }).click();
    await playground.says("Stopped: the worker of the program was ended, with its world.");
    await playground.write('console.log("the next one", (await client.me()).role);');
    await playground.run();
    await playground.output.getByText("the next one admin").waitFor();
    await playground.inspector.getByRole("status").getByText("live").waitFor();
  });

  it("ends a program that has not ended after a minute", async () => {
    await using playground = await PlaygroundPage.open(site);
    const { page } = playground;
    await page.clock.install();
    await playground.write('console.log("it begins"); await new Promise(() => {});');
    await playground.run();
    await playground.output.getByText("it begins").waitFor();
    await page.clock.fastForward(59_000);
    expect(await page.getByRole("status").textContent()).toBe("The program runs.");
    await page.clock.fastForward(2_000);
    await playground.says("The program did not end within 60 seconds.");
    expect(await page.getByRole("button", { name: "Run", exact: true }).isEnabled()).toBe(true);
  });

  it("ends a program whose mock could not start, and does not wait for the mock again", async () => {
    await using playground = await PlaygroundPage.open(site);
    const { page } = playground;
    await playground.run();
    await playground.says("The program has ended.");
    await page.route(/\/assets\/worker-/, (route) => route.fulfill({ status: 404 }));
    for (let run = 0; run < 2; run++) {
      await playground.run();
      await playground.says("The mock could not start. Load the page again.");
      expect(await page.getByRole("button", { name: "Run", exact: true }).isEnabled()).toBe(true);
    }
  });

  it("stays on the inspector's page when the link of another world is pressed", async () => {
    await playground.write('await mock.worlds.create({ name: "other" });');
    await playground.run();
    await playground.says("The program has ended.");
    const frame = playground.inspector;
    await frame.getByRole("link", { name: "Setup" }).click();
    await frame.getByRole("link", { name: "other" }).click();
    await frame.getByRole("status").getByText("live").waitFor();
    expect(new URL(frame.url()).pathname).toBe("/docs/playground/inspector/index.html");
  });

  it("connects the inspector again when that is loaded again", async () => {
    await playground.inspector.evaluate("location.reload()");
    await playground.write('await mock.control.startTask({ taskType: "BINDER" });');
    await playground.run();
    await playground.says("The program has ended.");
    await playground.inspector.getByRole("link", { name: /^Tasks/ }).click();
    await playground.inspector.locator(".row").filter({ hasText: "BINDER" }).waitFor();
  });

  it("shows what a program prints as text, and no more than a thousand lines", async () => {
    await playground.write(
      'console.log("<img src=x onerror=alert(1)>"); for (let i = 0; i < 5000; i++) console.log(i); throw new Error("at the end");',
    );
    await playground.run();
    await playground.output.getByText("more than 1000 lines are not shown").waitFor();
    await playground.output.getByText("<img src=x onerror=alert(1)>").waitFor();
    await playground.output.getByText("Error: at the end").waitFor();
    expect(await playground.page.locator("#output img").count()).toBe(0);
    expect(await playground.page.locator("#output li").count()).toBe(1_002);
  });

  it("says what is wrong with a program that is no JavaScript, and what to do about a typed error", async () => {
    await playground.write("const = 1;");
    await playground.run();
    await playground.output.getByText("SyntaxError").waitFor();
    await playground.write('await client.tasks.get("");');
    await playground.run();
    await playground.output.getByText("ARGUMENT_INVALID").waitFor();
    await playground.output.getByText("What to do: correct the field in the message").waitFor();
  });

  it("runs a program in the world that the inspector changed, or in a new one", async () => {
    const { page, output } = playground;
    const program = 'console.log("tasks:", (await mock.control.listTasks()).data.length);';
    await playground.write(`await mock.control.startTask({ taskType: "BINDER" }); ${program}`);
    await playground.run();
    await output.getByText("tasks: 1").waitFor();
    await playground.says("The program has ended.");
    await playground.write(program);
    await page.getByRole("checkbox", { name: "in a new world" }).uncheck();
    await playground.run();
    await output.getByText("tasks: 1").waitFor();
    await playground.says("The program has ended.");
    await page.getByRole("checkbox", { name: "in a new world" }).check();
    await playground.run();
    await output.getByText("tasks: 0").waitFor();
  });

  it("transfers at most 600 KB before it can be used", async () => {
    const before = site.bytesSent;
    await using playground = await PlaygroundPage.open(site);
    await playground.run();
    await playground.says("The program has ended.");
    const transferred = site.bytesSent - before;
    expect(transferred).toBeLessThan(600_000);
    expect(transferred).toBeGreaterThan(100_000);
  });

  it("can be used with the keyboard alone", async () => {
    const { page, output } = playground;
    await page.getByRole("button", { name: "Task", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Program in JavaScript" }).focus();
    await page.keyboard.press("Control+Enter");
    await output.getByText("an hour later: COMPLETED").waitFor();
    await playground.says("The program has ended.");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.id")).toBe("run");
  });

  it("permits scripts of its own origin alone, and no text as code", async () => {
    const pages = ["", "inspector/index.html"].map((path) => fetch(`${site.origin}/${path}`));
    for (const page of await Promise.all(pages)) {
      const html = await page.text();
      expect(html).toContain("default-src 'none'; script-src 'self';");
      expect(html).not.toMatch(/unsafe-eval|script-src-elem|<script(?![^>]* src=)/);
    }
  });

  it("says what it needs to a visitor without JavaScript", async () => {
    const context = await (await sharedChromium()).newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${site.origin}/`);
    expect(await page.locator("noscript p").textContent()).toContain("The playground needs JavaScript");
    await context.close();
  });

  it("passes axe and does not scroll sideways, wide and light, and on a phone and dark", async () => {
    const { page, inspector } = playground;
    await page.getByRole("button", { name: "Fault", exact: true }).click();
    await playground.run();
    await playground.output.getByText("What to do:").waitFor();
    for (const [size, colorScheme] of [
      [phone, "dark"],
      [widescreen, "light"],
    ] as const) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      expect(await violations(page, { iframes: false })).toEqual([]);
      expect(await violations(inspector)).toEqual([]);
      expect(await page.evaluate("document.scrollingElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(
        0,
      );
    }
  });
});
