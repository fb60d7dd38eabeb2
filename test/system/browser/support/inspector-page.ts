import type { MockServer, MockServerOptions } from "@workspace-tasks/mock-server";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { buildPage } from "./built-page.ts";
import { sharedChromium } from "./chromium.ts";
import { createInspectorFixture } from "./inspector-fixture.ts";

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  /** Where to go, such as `#/tasks`. */
  readonly hash?: string;
  /** Whether pauses between two reads are as long as for a user. Default: a tenth of that. */
  readonly hasOwnPauses?: boolean;
}

export const widescreen = { width: 1280, height: 800 };
export const phone = { width: 390, height: 844 };

/** Labels that the page shows for some seconds, such as "Copied", stay: on a busy machine a test may look late. */
export const labelsStay = (pause = 1) => `
  const schedule = window.setTimeout;
  window.setTimeout = (run, delayMs, ...values) =>
    schedule.call(window, run, [2_500, 4_000, 6_000].includes(delayMs) ? 600_000 : delayMs * ${pause}, ...values);
`;

/** What serves a page: the mock, or a receiver. */
export type PageServer = Pick<MockServer, "baseUrl" | "inspectorUrl">;

/**
 * A page in a browser context of its own. Closing it throws after an error on the console, an exception, or a request to
 * another server than its own.
 */
export class WatchedPage implements AsyncDisposable {
  /** Errors; a test that provokes some removes them. */
  readonly complaints: string[] = [];
  readonly page: Page;

  protected constructor(page: Page, origin: string) {
    this.page = page;
    page.setDefaultTimeout(30_000);
    page.on("pageerror", (error) => this.complaints.push(`exception: ${error.message}`));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(message.text());
    });
    // Those of its workers and frames are seen, too.
    page.context().on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url))
        this.complaints.push(`request to ${url}`);
    });
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

/** The page of the inspector, or of an inbox, which is made of the same parts. */
export class InspectorPage extends WatchedPage {
  readonly #mock: PageServer;

  private constructor(page: Page, mock: PageServer) {
    super(page, mock.baseUrl);
    this.#mock = mock;
  }

  static async open(mock: PageServer, options: PageOptions = {}): Promise<InspectorPage> {
    const { width, height, colorScheme = "light", hash = "", hasOwnPauses } = { ...widescreen, ...options };
    const viewport = { width, height };
    const browser = await sharedChromium();
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
    await context.addInitScript(labelsStay(hasOwnPauses ? 1 : 0.1));
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const opened = new InspectorPage(await context.newPage(), mock);
    await opened.page.goto(`${mock.inspectorUrl}${hash}`);
    await opened.page.getByRole("status").getByText("live").waitFor();
    return opened;
  }

  /** Loads the page at an address such as `#/tasks`. */
  async go(hash: string): Promise<void> {
    await this.page.goto("about:blank");
    await this.page.goto(`${this.#mock.inspectorUrl}${hash}`);
    await this.page.getByRole("main").waitFor();
  }

  /** Goes to an address without loading the page again. */
  async show(hash: string, size = widescreen): Promise<void> {
    await this.page.setViewportSize(size);
    await this.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  /** The panel with this heading. */
  panel(name: string): Locator {
    return this.page.locator("section", { has: this.page.getByRole("heading", { name, exact: true }) });
  }

  get rows(): Locator {
    return this.page.getByRole("option").and(this.page.locator(".row"));
  }

  /** The detail of the selected row. */
  get detail(): Locator {
    return this.page.getByRole("region", { name: "Selected row" });
  }

  get clipboard(): Promise<string> {
    return this.page.evaluate("navigator.clipboard.readText()");
  }
}

interface Shared extends AsyncDisposable {
  readonly mock: MockServer;
}

/**
 * One mock and one page for the tests of a file. Each test begins with a page that shows no view.
 * @param reset what else a test leaves behind
 */
export function shareInspector<Fixture extends Shared>(
  create: () => Promise<Fixture>,
  reset: () => Promise<void> = async () => {},
) {
  let shared: Fixture & { readonly inspector: InspectorPage };
  beforeAll(async () => {
    buildPage();
    const fixture = await create();
    shared = { ...fixture, inspector: await InspectorPage.open(fixture.mock, { hash: "#/none" }) };
  });
  afterEach(async () => {
    shared.inspector.throwComplaints();
    await shared.inspector.show("#/none");
    await reset();
  });
  afterAll(async () => {
    await shared.inspector[Symbol.asyncDispose]();
    await shared[Symbol.asyncDispose]();
  });
  return () => shared;
}

/** The same as above; each test also begins with a reset mock, of which the page knows. */
export function shareResetInspector(options: MockServerOptions = {}) {
  const shared = shareInspector(
    () => createInspectorFixture(options),
    async () => {
      shared().respond("billing", 204);
      await shared().mock.control.reset();
      const views = shared().inspector.page.getByRole("navigation", { name: "Views" });
      const unused = "OverviewTasks0Deliveries0SignaturesEndpoints0Requests0FaultsRunSetup";
      await expect.poll(() => views.textContent()).toBe(unused);
    },
  );
  return shared;
}
