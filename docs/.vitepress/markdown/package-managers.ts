import type { MarkdownRenderer } from "vitepress";
import { commandsFor, packageManagerNames } from "../commands-for.ts";

/** Each block that installs packages is shown for every package manager. */
export function showPackageManagers(md: MarkdownRenderer): void {
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
