import axe from "axe-core";
import type { Frame, Page } from "playwright-core";
import { expect } from "vitest";
import { phone } from "./inspector-page.ts";

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What axe finds in a page or a frame: the rule, and the elements that violate it. @param options of `axe.run` */
export async function violations(page: Page | Frame, options: object = {}): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  const { violations: found } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ resultTypes: ["violations"], ...options })})`,
  )) as { readonly violations: readonly Violation[] };
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

/** Rules whose result depends on the theme, the size or which of list and detail a phone shows. */
const phoneRules = {
  runOnly: ["color-contrast", "link-in-text-block", "target-size", "scrollable-region-focusable"],
};

/** That the name of each control begins as it is labelled is no rule by default. */
const rules = { "label-content-name-mismatch": { enabled: true } };

/** Whether the page is accessible and does not scroll sideways: as it is, then on a phone in the dark. */
export async function expectGoodLooks(page: Page, view: string): Promise<void> {
  expect(await violations(page, { rules }), view).toEqual([]);
  expect(await overflowPixels(page), view).toBe(0);
  await page.setViewportSize(phone);
  await page.emulateMedia({ colorScheme: "dark" });
  await twoFrames(page);
  expect(await violations(page, phoneRules), `${view} on a phone`).toEqual([]);
  expect(await overflowPixels(page), `${view} on a phone`).toBe(0);
}

/** By how much the page, its view or a panel is too wide; the strip of views may scroll. */
export const overflowPixels = (page: Page) =>
  page.evaluate(`Math.max(...[document.scrollingElement, ...document.querySelectorAll(
    ".bar, .view, .detail, .rows, .panel, dialog"
  )].map((element) => element.scrollWidth - element.clientWidth))`) as Promise<number>;

/** What the page does about its new size. */
export const twoFrames = (page: Page) =>
  page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
