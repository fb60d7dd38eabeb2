// `npm run codegen [-- --check]`: everything generated that ships. Documents are written by `npm run docs`.
import { spawnSync } from "node:child_process";

const options = process.argv.slice(2);
const steps = [
  ["graphql-codegen", "--config", "codegen.ts"],
  ["tsx", "--conditions=workspace-tasks-source", "scripts/write-code.ts"],
];
for (const [program, ...words] of steps) {
  const npx = ["exec", "--no", "--", program, ...words, ...options];
  const { status } = spawnSync("npm", npx, { stdio: "inherit", shell: process.platform === "win32" });
  if (status !== 0) process.exit(status ?? 1);
}
