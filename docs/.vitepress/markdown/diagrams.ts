import { renderMermaidSVG } from "beautiful-mermaid";
import type { MarkdownRenderer } from "vitepress";

/** Diagrams are drawn when the site is built: a page needs no script for them. Their colours are in theme/style.css. */
export function drawDiagrams(md: MarkdownRenderer): void {
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
