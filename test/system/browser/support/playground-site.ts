import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, Frame, Page } from "playwright-core";
import { build } from "vite";
import { listen } from "../../../support/listen.ts";
import { widescreen } from "./inspector-page.ts";

const root = join(import.meta.dirname, "../../../..");
const folder = join(root, ".tmp/playground");
const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
};

export interface PlaygroundSite extends AsyncDisposable {
  readonly origin: string;
  /** Bytes of the bodies sent so far, in gzip. */
  readonly bytesSent: number;
}

/** Builds the playground and serves it as any static server does, below a path of its own. */
export async function servePlayground(): Promise<PlaygroundSite> {
  await build({ configFile: join(root, "docs/playground/vite.config.ts"), logLevel: "warn" });
  let bytesSent = 0;
  const server = await listen(
    createServer((request, response) => {
      const path = (request.url ?? "").replace(/^\/docs\/playground\/(?=.)/, "").replace(/[?#].*/, "");
      const file = join(folder, path.endsWith("/") ? "index.html" : path);
      if (!existsSync(file)) return response.writeHead(404).end();
      const body = gzipSync(readFileSync(file), { level: 9 });
      bytesSent += body.length;
      const type = types[extname(file)] ?? "text/plain";
      return response.writeHead(200, { "content-type": type, "content-encoding": "gzip" }).end(body);
    }),
  );
  return {
    origin: server.origin,
    get bytesSent() {
      return bytesSent;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The playground in a browser context of its own. Closing it throws after an error or a request to another origin. */
export class PlaygroundPage {
  readonly complaints: string[] = [];
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  static async open(
    browser: Browser,
    { origin }: PlaygroundSite,
    options: { readonly colorScheme?: "light" | "dark"; readonly viewport?: typeof widescreen } = {},
  ): Promise<PlaygroundPage> {
    const context = await browser.newContext({ viewport: widescreen, reducedMotion: "reduce", ...options });
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
    await page.goto(`${origin}/docs/playground/`);
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
    if (this.complaints.length > 0) throw new Error(`the page misbehaved: ${this.complaints.join("; ")}`);
  }
}
