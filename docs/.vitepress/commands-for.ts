import convert from "npm-to-yarn";

/** How each runs the commands of installed packages, as `npx` does. */
const runners = { npm: "npx", pnpm: "pnpm exec", yarn: "yarn", bun: "bunx" } as const;
type PackageManager = keyof typeof runners;
export const packageManagers = Object.keys(runners) as readonly PackageManager[];

/** A shell block for another package manager. */
export function commandsFor(manager: PackageManager, commands: string): string {
  return commands
    .split("\n")
    .map((line) =>
      line.startsWith("npm ") ? convert(line, manager) : line.replace(/^npx(?= )/, runners[manager]),
    )
    .join("\n");
}
