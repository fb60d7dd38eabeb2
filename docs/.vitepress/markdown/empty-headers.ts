import type { MarkdownRenderer } from "vitepress";

/** Markdown tables must have a header; where a document leaves its cells empty, they are cells and no headers. */
export function dropEmptyHeaders(md: MarkdownRenderer): void {
  md.core.ruler.push("empty-headers", ({ tokens }) => {
    tokens.forEach((token, index) => {
      const close = tokens[index + 2];
      if (token.type !== "th_open" || tokens[index + 1]?.content !== "" || !close) return;
      token.tag = "td";
      close.tag = "td";
    });
  });
}
