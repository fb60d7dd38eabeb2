const packageManagers = {
  npm: { add: "npm install", dev: "--save-dev", run: "npx" },
  pnpm: { add: "pnpm add", dev: "--save-dev", run: "pnpm exec" },
  yarn: { add: "yarn add", dev: "--dev", run: "yarn" },
  bun: { add: "bun add", dev: "--dev", run: "bunx" },
} as const;
type PackageManager = keyof typeof packageManagers;

export const packageManagerNames = Object.keys(packageManagers) as readonly PackageManager[];

/** Commands that install packages with npm and run what they bring, for another package manager. */
export function commandsFor(manager: PackageManager, commands: string): string {
  const { add, dev, run } = packageManagers[manager];
  return commands
    .replace(/^npm install(?= )/gm, add)
    .replace(/(?<= )--save-dev(?= )/g, dev)
    .replace(/^npx(?= )/gm, run);
}
