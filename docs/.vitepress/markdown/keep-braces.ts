import type { MarkdownRenderer } from "vitepress";

/** Inline code may contain `{{ }}`, which Vue would evaluate. */
export function keepBraces(md: MarkdownRenderer): void {
  md.core.ruler.push("keep-braces", ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? []))
      if (token.type === "code_inline") token.attrSet("v-pre", "");
  });
}
