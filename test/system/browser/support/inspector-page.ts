import type { MockServer } from "@workspace-tasks/mock-server";
import type { Locator, Page } from "playwright-core";
import { sharedChromium } from "./chromium.ts";

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  /** Where to go, such as `#/tasks`. */
  readonly hash?: string;
}

export const widescreen = { width: 1280, height: 800 };
export const phone = { width: 390, height: 844 };

/** Labels that the page shows for some seconds, such as "Copied", stay: on a busy machine a test may look late. */
export const labelsStay = `
  const schedule = window.setTimeout;
  window.setTimeout = (run, delayMs, ...values) =>
    schedule.call(window, run, [2_500, 4_000, 6_000].includes(delayMs) ? 600_000 : delayMs, ...values);
`;

/**
 * The inspector page in a browser context of its own. Closing it throws after an error on the console, an exception,
 * or a request to another server than the mock.
 */
export class InspectorPage implements AsyncDisposable {
  /** Errors; a test that provokes some removes them. */
  readonly complaints: string[] = [];
  readonly page: Page;
  readonly #mock: MockServer;

  private constructor(page: Page, mock: MockServer) {
    this.page = page;
    this.#mock = mock;
    page.on("pageerror", (error) => this.complaints.push(`exception: ${error.message}`));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(message.text());
    });
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${mock.baseUrl}/`) && !/^(data|blob):/.test(url))
        this.complaints.push(`request to ${url}`);
    });
  }

  static async open(mock: MockServer, options: PageOptions = {}): Promise<InspectorPage> {
    const {
      width = widescreen.width,
      height = widescreen.height,
      colorScheme = "light",
      hash = "",
    } = options;
    const viewport = { width, height };
    const browser = await sharedChromium();
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
    await context.addInitScript(labelsStay);
    const opened = new InspectorPage(await context.newPage(), mock);
    opened.page.setDefaultTimeout(30_000);
    await opened.go(hash);
    await opened.page.getByRole("status").getByText("live").waitFor();
    return opened;
  }

  /** Loads the page at an address such as `#/tasks`. */
  async go(hash: string): Promise<void> {
    await this.page.goto("about:blank");
    await this.page.goto(`${this.#mock.inspectorUrl}${hash}`);
    await this.page.getByRole("main").waitFor();
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  get rows(): Locator {
    return this.page.getByRole("option").and(this.page.locator(".row"));
  }

  /** The detail of the selected row. */
  get detail(): Locator {
    return this.page.getByRole("region", { name: "Selected row" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
    if (this.complaints.length > 0) throw new Error(`the page misbehaved: ${this.complaints.join("; ")}`);
  }
}
