import convert from "npm-to-yarn";
import type { MarkdownRenderer } from "vitepress";

/** How each runs the commands of installed packages, as `npx` does. */
const runners = { npm: "npx", pnpm: "pnpm exec", yarn: "yarn", bun: "bunx" } as const;
type PackageManager = keyof typeof runners;
const packageManagers = Object.keys(runners) as readonly PackageManager[];

/** A shell block for another package manager. */
export function commandsFor(manager: PackageManager, commands: string): string {
  return commands
    .split("\n")
    .map((line) =>
      line.startsWith("npm ") ? convert(line, manager) : line.replace(/^npx(?= )/, runners[manager]),
    )
    .join("\n");
}

/** Each block that installs packages is shown for every package manager. */
export function showPackageManagers(md: MarkdownRenderer): void {
  md.core.ruler.push("package-managers", (state) => {
    state.tokens = state.tokens.flatMap((token) => {
      if (token.type !== "fence" || token.info !== "sh" || !/^npm install /m.test(token.content)) return [token];
      const blocks = packageManagers.map((manager) => {
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
