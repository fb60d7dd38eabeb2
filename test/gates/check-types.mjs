// Checks all types: `npm run typecheck`. The newest compiler takes a third of the time of the one that other tools need.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const compiler = join(root, "node_modules/typescript-7/bin/tsc");
const bundled = [
  "sdk/page-parts",
  "mock-server/inspector/page",
  "receiver-kit/page/app",
  "docs/.vitepress",
  "docs/playground",
];
for (const args of [["-b"], ...bundled.map((project) => ["--noEmit", "--project", project])]) {
  const { status } = spawnSync(process.execPath, [compiler, ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
