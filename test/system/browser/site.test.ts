import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { overviewSections } from "../../../docs/.vitepress/overview.ts";
import { pageOf } from "../../../docs/.vitepress/pages.ts";
import { builtSite } from "../../../docs/generate/site-inputs.ts";
import { projectFiles } from "../../../scripts/project-files.ts";
import { blocksOf } from "../../support/documents.ts";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { serveSite } from "./support/built-site.ts";
import { sharedChromium } from "./support/chromium.ts";
import { phone, widescreen } from "./support/inspector-page.ts";
import type { StaticSite } from "./support/static-site.ts";
import { violations } from "./support/violations.ts";

let site: StaticSite;
beforeAll(async () => {
  site = await serveSite();
}, 300_000);
afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

interface OpenPage extends AsyncDisposable {
  readonly page: Page;
}

/** Whether Vue has taken over the page, so that its buttons work. */
const isRunning = "document.querySelector('#app')?.__vue_app__ !== undefined";

/** A page of the site in a browser context of its own. @param address such as `webhooks.html` */
async function open(address: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await (await sharedChromium()).newContext({
    viewport: widescreen,
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  await page.goto(`${site.origin}/${address}`);
  if (options.javaScriptEnabled !== false) await page.waitForFunction(isRunning);
  return { page, [Symbol.asyncDispose]: () => context.close() };
}

const addressOf = (source: string) => (pageOf(source) ?? "").replace(/\.md$/, ".html");
const sections = overviewSections();
const sources = sections.flatMap(({ pages }) => pages.map(({ source }) => source));

const shownPages = [
  ["the home", ""],
  ["a guide", "webhooks.html"],
  ["a guide with diagrams", "scale.html"],
  ["a reference page", "cli.html"],
  ["a page of the API", "reference/api/receiver-kit/express.html"],
] as const;

describe("the documentation site", () => {
  it("search finds the words of users in guides first", async () => {
    await using opened = await open("documentation.html");
    const { page } = opened;
    await page.getByRole("button", { name: "Search" }).first().click();
    const words = {
      DLQ: "webhooks.html",
      cron: "import.html",
      ngrok: "recipes/laptop.html",
      Prisma: "recipes/orm.html",
      pagination: "sdk.html",
      "retry schedule": "webhooks.html",
      backlog: "runbook.html",
    };
    for (const [word, address] of Object.entries(words)) {
      await page.getByRole("searchbox").fill(word);
      const first = page.locator("#localsearch-list a").first();
      await expect.poll(() => first.getAttribute("href"), { timeout: 10_000 }).toContain(`/${address}#`);
    }
  });

  it("search finds how to rotate a secret, and leads to its heading", async () => {
    await using opened = await open("");
    const { page } = opened;
    await page.getByRole("button", { name: "Search" }).first().click();
    await page.getByRole("searchbox").fill("rotate a secret");
    const first = page.getByRole("option").first();
    await expect.poll(() => first.textContent()).toMatch(/secret/i);
    await first.click();
    await page.waitForURL(/#.*(?:secret|rotat)/);
    expect(await page.locator("main").textContent()).toMatch(/rotat/i);
  });

  it("the navigation leads to the playground, which runs its first sample", async () => {
    await using opened = await open("webhooks.html");
    const { page } = opened;
    await page.getByRole("link", { name: "Playground" }).first().click();
    await page.waitForURL(/\/playground\//);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("The program has ended.").waitFor();
  });

  it("the side bar has every page of the documentation's overview, in its order", async () => {
    await using opened = await open("");
    const labels = await opened.page.locator(".VPSidebar .VPLink").allTextContents();
    const expected = sections.flatMap(({ pages }) => pages.map(({ label }) => label));
    expect(labels.slice(0, expected.length)).toEqual(expected);
    expect(labels).toContain("receiver-kit/express");
  });

  it.each(shownPages)("%s passes the accessibility checks, light and dark", async (_, address) => {
    await using opened = await open(address);
    expect(await violations(opened.page)).toEqual([]);
    await opened.page.emulateMedia({ colorScheme: "dark" });
    await opened.page.locator("html.dark").waitFor();
    expect(await violations(opened.page, rulesOfColor)).toEqual([]);
  });

  it.each(shownPages)("%s does not scroll sideways on a phone", async (_, address) => {
    await using opened = await open(address, { viewport: phone });
    expect(await overflowPixels(opened.page)).toBe(0);
  });

  it("the checks find a page that is not accessible, and one that is too wide", async () => {
    await using opened = await open("concepts.html", { viewport: phone });
    await opened.page.evaluate(
      `document.querySelector("main").insertAdjacentHTML("beforeend", '<img src=""><div style="width: 900px">wide</div>')`,
    );
    expect(await violations(opened.page)).toEqual([expect.stringMatching(/^image-alt: /)]);
    expect(await overflowPixels(opened.page)).toBeGreaterThan(100);
  });

  it("the first view of a guide has at most 150 KB", async () => {
    const before = site.bytesSent;
    await using opened = await open("webhooks.html");
    await opened.page.waitForLoadState("networkidle");
    expect(await opened.page.title()).toContain("Receiver guide");
    const transferred = site.bytesSent - before;
    expect(transferred).toBeGreaterThan(10_000);
    expect(transferred).toBeLessThan(150_000);
  });

  it.each([
    ["wide", widescreen],
    ["on a phone", phone],
  ])("a guide and the side bar are readable without JavaScript, %s", async (_, viewport) => {
    await using opened = await open("webhooks.html", { viewport, javaScriptEnabled: false });
    const { page } = opened;
    expect(await page.getByRole("heading", { level: 1, name: "Receiver guide" }).isVisible()).toBe(true);
    expect(await page.locator("pre").first().isVisible()).toBe(true);
    await page.locator(".VPSidebar").getByRole("link", { name: "Mock guide" }).click();
    await page.getByRole("heading", { level: 1, name: "Mock guide" }).waitFor();
  });

  it("a command that installs packages is shown for each package manager", async () => {
    await using opened = await open("");
    const group = opened.page.locator(".vp-code-group").first();
    await group.locator("label", { hasText: "pnpm" }).click();
    await expect
      .poll(() => group.locator("pre:visible").textContent())
      .toMatch(/^pnpm add @workspace-tasks\/sdk/);
    expect(await group.locator("label").allTextContents()).toEqual(["npm", "pnpm", "yarn", "bun"]);
  });

  it("a diagram is drawn without a script", async () => {
    await using opened = await open("rabbitmq.html", { javaScriptEnabled: false });
    const diagrams = opened.page.getByRole("img", { name: "Diagram" });
    expect(await diagrams.first().textContent()).toContain("three RabbitMQ nodes");
  });

  it("every code block of the README and docs/ is on its page, as it is in the file", async () => {
    await using opened = await open("");
    const pages = projectFiles(".", ".md").filter((file) => /^README|^docs\//.test(file) && pageOf(file));
    expect(pages.length).toBeGreaterThan(25);
    for (const file of pages) {
      const shown = await codeOf(opened.page, readFileSync(join(builtSite, addressOf(file)), "utf8"));
      const blocks = blocksOf(readFileSync(file, "utf8")).filter(({ language }) => language !== "mermaid");
      for (const { text, line } of blocks) expect(shown, `${file}:${line}`).toContain(text.trimEnd());
    }
  });

  it("llms.txt leads to pages that exist, and llms-full.txt has them", () => {
    const index = readFileSync(join(builtSite, "llms.txt"), "utf8");
    const links = Array.from(index.matchAll(/\]\(([^)]+)\)/g), ([, href = ""]) => href);
    expect(links.toSorted()).toEqual(sources.map(addressOf).toSorted());
    expect(links.filter((href) => !existsSync(join(builtSite, href)))).toEqual([]);
    const full = readFileSync(join(builtSite, "llms-full.txt"), "utf8");
    expect(full).toContain(readFileSync("docs/troubleshooting.md", "utf8"));
  });

  it("llms.txt says of a page its question, and llms-full.txt has the tables that only the site shows", () => {
    const index = readFileSync(join(builtSite, "llms.txt"), "utf8").split("\n");
    expect(index).toContain(
      "- [Mock guide](mock-server.html): How do I develop and test without the service?",
    );
    const full = readFileSync(join(builtSite, "llms-full.txt"), "utf8");
    expect(full).toContain("Usage: workspace-tasks mock");
    expect(full).not.toContain("@include");
  });
});

const overflowPixels = (page: Page) =>
  page.evaluate(
    "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth",
  ) as Promise<number>;

/** The text of each code block of a page. */
const codeOf = (page: Page, html: string) =>
  page.evaluate(
    `[...new DOMParser().parseFromString(${JSON.stringify(html)}, "text/html").querySelectorAll("main pre code")]
      .map((code) => code.textContent.trimEnd())`,
  ) as Promise<string[]>;

/** The only rules whose result depends on the theme. */
const rulesOfColor = { runOnly: ["color-contrast", "link-in-text-block"] };
