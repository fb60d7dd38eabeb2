import { renderMermaidSVG } from "beautiful-mermaid";
import type { MarkdownRenderer } from "vitepress";
import { commandsFor, packageManagerNames } from "./commands-for.ts";
import { siteLink } from "./pages.ts";

/** What the documents need besides Markdown. @param sourceOf the path of a file from the root of the repository */
export function extendMarkdown(
  md: MarkdownRenderer,
  sourceOf: (file: string) => string,
  repository: string | undefined,
): void {
  keepBraces(md);
  dropEmptyHeaders(md);
  linkPages(md, sourceOf, repository);
  showPackageManagers(md);
  drawDiagrams(md);
}

type State = Parameters<Parameters<MarkdownRenderer["core"]["ruler"]["push"]>[1]>[0];
type Tokens = State["tokens"];

/** Links between files of the repository become links between pages; one that leads nowhere becomes text. */
function linkPages(
  md: MarkdownRenderer,
  sourceOf: (file: string) => string,
  repository: string | undefined,
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

/** Each block that installs packages is shown for every package manager. */
function showPackageManagers(md: MarkdownRenderer): void {
  md.core.ruler.push("package-managers", (state) => {
    state.tokens = state.tokens.flatMap((token) => {
      if (token.type !== "fence" || token.info !== "sh" || !/^npm install /m.test(token.content))
        return [token];
      const blocks = packageManagerNames.map((manager) => {
        const block = new state.Token("fence", "code", 0);
        return Object.assign(block, {
          info: `sh [${manager}]`,
          content: commandsFor(manager, token.content),
          markup: token.markup,
          map: token.map,
        });
      });
      const open = new state.Token("container_code-group_open", "div", 1);
      const close = new state.Token("container_code-group_close", "div", -1);
      return [open, ...blocks, close];
    });
  });
}

/** Diagrams are drawn when the site is built: a page needs no script for them. Their colours are in theme/style.css. */
function drawDiagrams(md: MarkdownRenderer): void {
  md.core.ruler.push("diagrams", (state) => {
    for (const token of state.tokens) {
      if (token.type !== "fence" || token.info !== "mermaid") continue;
      token.type = "html_block";
      token.content = diagramOf(token.content);
    }
  });
}

function diagramOf(source: string): string {
  const colors = { bg: "var(--vp-c-bg)", fg: "var(--vp-c-text-1)", transparent: true };
  const svg = renderMermaidSVG(source, colors).replace(/<style>[\s\S]*?<\/style>/, "");
  // A blank line would end the HTML block.
  return `<div class="diagram" tabindex="0" v-pre>${svg.replace("<svg ", '<svg role="img" aria-label="Diagram" ').replace(/\n\s*\n/g, "\n")}</div>\n`;
}

/** Markdown tables must have a header; where a document leaves its cells empty, they are cells and no headers. */
function dropEmptyHeaders(md: MarkdownRenderer): void {
  md.core.ruler.push("empty-headers", ({ tokens }) => {
    tokens.forEach((token, index) => {
      const close = tokens[index + 2];
      if (token.type !== "th_open" || tokens[index + 1]?.content !== "" || !close) return;
      token.tag = "td";
      close.tag = "td";
    });
  });
}

/** Inline code may contain `{{ }}`, which Vue would evaluate. */
function keepBraces(md: MarkdownRenderer): void {
  md.core.ruler.push("keep-braces", ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? []))
      if (token.type === "code_inline") token.attrSet("v-pre", "");
  });
}
