import type { MarkdownRenderer } from "vitepress";
import { siteLink } from "../pages.ts";

type State = Parameters<Parameters<MarkdownRenderer["core"]["ruler"]["push"]>[1]>[0];
type Tokens = State["tokens"];

/** Links between files of the repository become links between pages; one that leads nowhere becomes text. */
export function linkPages(
  md: MarkdownRenderer,
  sourceOf: (file: string) => string,
  repository?: string,
): void {
  md.core.ruler.push("link-pages", ({ tokens, env }) => {
    const source = sourceOf(env.realPath ?? env.path);
    for (const token of tokens) {
      if (token.children)
        token.children = linked(token.children, (href) => siteLink(source, href, repository));
    }
  });
}

function linked(tokens: Tokens, resolve: (href: string) => string | undefined): Tokens {
  let isText = false;
  return tokens.filter((token) => {
    if (token.type === "link_open") {
      const href = resolve(token.attrGet("href") ?? "");
      if (href !== undefined) token.attrSet("href", href);
      isText = href === undefined;
      return !isText;
    }
    if (token.type !== "link_close" || !isText) return true;
    isText = false;
    return false;
  });
}
