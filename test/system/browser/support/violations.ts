import axe from "axe-core";
import type { Frame, Page } from "playwright-core";

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
