// Everything CI runs, in order of how soon it tells: `npm run check`. Each gate says what it prevents.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const gates = [
  ["formatting and lint", "npm run --silent lint"],
  ["types", "npm run --silent typecheck"],
  ["generated code is fresh", "node scripts/check-generated.mjs"],
  ["tests", "npm test --silent"],
];

const startedAt = performance.now();
for (const [name, command] of gates) {
  const gateStartedAt = performance.now();
  console.log(`\n── ${name}: ${command}`);
  const { status } = spawnSync(command, { cwd: root, stdio: "inherit", shell: true });
  const seconds = ((performance.now() - gateStartedAt) / 1000).toFixed(1);
  if (status !== 0) {
    console.error(`\n✗ ${name} failed after ${seconds} s; run it alone with: ${command}`);
    process.exit(1);
  }
  console.log(`✓ ${name} (${seconds} s)`);
}
console.log(`\nall ${gates.length} gates passed in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
