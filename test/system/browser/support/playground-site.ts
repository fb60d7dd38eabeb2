import { join } from "node:path";
import type { Frame } from "playwright-core";
import { build } from "vite";
import { sharedChromium } from "./chromium.ts";
import { WatchedPage, widescreen } from "./inspector-page.ts";
import { type StaticSite, serveFolder } from "./static-site.ts";

const root = join(import.meta.dirname, "../../../..");
const folder = join(root, ".tmp/playground");

/** Builds the playground, and serves it below a path of its own. */
export async function servePlayground(): Promise<StaticSite> {
  await build({ configFile: join(root, "docs/playground/vite.config.ts"), logLevel: "warn" });
  return serveFolder(folder, "/docs/playground");
}

/** The playground. */
export class PlaygroundPage extends WatchedPage {
  static async open({ origin }: StaticSite, viewport = widescreen): Promise<PlaygroundPage> {
    const browser = await sharedChromium();
    const context = await browser.newContext({ viewport, reducedMotion: "reduce" });
    const opened = new PlaygroundPage(await context.newPage(), origin);
    await opened.page.goto(`${origin}/`);
    await opened.page.frameLocator("#inspector").getByRole("status").getByText("live").waitFor();
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
}
