import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { root } from "../../scripts/packages.ts";

const overview = "docs/README.md";

export interface Section {
  /** Empty for the introduction. */
  readonly title: string;
  readonly pages: readonly { readonly label: string; readonly source: string }[];
}

/** The sections of the documentation's overview with the files that each links to. */
export function overviewSections(): readonly Section[] {
  const [introduction = "", ...sections] = readFileSync(join(root, overview), "utf8").split(/^## /m);
  const titled = sections.map((text) => ({ title: text.slice(0, text.indexOf("\n")), text }));
  return [{ title: "", text: introduction }, ...titled].map(({ title, text }) => ({
    title,
    pages: pagesIn(text),
  }));
}

/** The first letter of a text is a capital, that of a name in code is not. */
const titleOf = (label: string) => (label.charAt(0).toUpperCase() + label.slice(1)).replaceAll("`", "");

/** A file with the text of its first link. */
function pagesIn(text: string): Section["pages"] {
  const pages = Array.from(text.matchAll(/\[([^\]]+)\]\(([^)#]+)\)/g), ([, label = "", href = ""]) => ({
    label: titleOf(label),
    source: posix.join(posix.dirname(overview), href),
  }));
  return pages.filter(({ source }, index) => pages.findIndex((each) => each.source === source) === index);
}
