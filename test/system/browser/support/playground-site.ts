import { join } from "node:path";
import type { Frame, Page } from "playwright-core";
import { build } from "vite";
import { sharedChromium } from "./chromium.ts";
import { widescreen } from "./inspector-page.ts";
import { type StaticSite, serveFolder } from "./static-site.ts";

const root = join(import.meta.dirname, "../../../..");
const folder = join(root, ".tmp/playground");
/** Builds the playground, and serves it below a path of its own. */
export async function servePlayground(): Promise<StaticSite> {
  await build({ configFile: join(root, "docs/playground/vite.config.ts"), logLevel: "warn" });
  return serveFolder(folder, "/docs/playground");
}

/** The playground in a browser context of its own. Closing it throws after an error or a request to another origin. */
export class PlaygroundPage {
  readonly complaints: string[] = [];
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  static async open({ origin }: StaticSite, viewport = widescreen): Promise<PlaygroundPage> {
    const browser = await sharedChromium();
    const context = await browser.newContext({ viewport, reducedMotion: "reduce" });
    const opened = new PlaygroundPage(await context.newPage());
    const { page, complaints } = opened;
    page.setDefaultTimeout(30_000);
    page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    context.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) complaints.push(`request to ${url}`);
    });
    await page.goto(`${origin}/`);
    await page.frameLocator("#inspector").getByRole("status").getByText("live").waitFor();
    return opened;
  }

  get output() {
    return this.page.getByRole("list", { name: "Output" });
  }

  get inspector(): Frame {
    const [, frame] = this.page.frames();
    if (!frame) throw new Error("the page has no frame");
    return frame;
  }

  /** Replaces the program. */
  async write(program: string): Promise<void> {
    await this.page.getByRole("textbox", { name: "Program in JavaScript" }).focus();
    await this.page.keyboard.press("Control+a");
    await this.page.keyboard.insertText(program);
  }

  async run(): Promise<void> {
    await this.page.getByRole("button", { name: "Run", exact: true }).click();
  }

  /** @param text of the status line */
  async says(text: string): Promise<void> {
    await this.page.getByRole("status").filter({ hasText: text }).waitFor();
  }

  throwComplaints(): void {
    const all = this.complaints.splice(0);
    if (all.length > 0) throw new Error(`the page misbehaved: ${all.join("; ")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
    this.throwComplaints();
  }
}
