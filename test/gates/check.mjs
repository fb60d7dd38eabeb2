// Everything CI runs, in order of how soon it tells: `npm run check`. Each gate says what it prevents.
// `npm run check -- --only <text>` runs the gates whose name holds the text.
//
// Three gates run at a time, since each uses less than one core or waits for a network, and each prints its output when it
// ends. One that is `alone` runs beside no other: the tests, which use all cores, and what measures.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { capture } from "../../scripts/capture.mjs";

const root = join(import.meta.dirname, "../..");
// An unknown option must not start all gates.
const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });
const gates = [
  ["formatting and lint", "npm run --silent lint"],
  ["lock file", "node scripts/complete-lock-file.mjs --check"],
  ["dead code and dependencies", "npx --no-install knip"],
  ["types", "npm run --silent typecheck"],
  // While others run: the tests and everything after them use it.
  ["the build", "npm run --silent build"],
  ["generated code is up to date", "npm run --silent codegen -- --check"],
  ["examples in the documents are up to date", "npm run --silent docs -- --check"],
  ["tests", "npm test --silent", "alone"],
  ["nothing is twice as slow", "node --import tsx test/bench/check-ratios.ts", "alone"],
  // The longest first.
  [
    "the site and its playground",
    "WORKSPACE_TASKS_DEPTH=full npx --no-install vitest run test/system/browser/site.test.ts test/system/browser/playground.test.ts",
  ],
  [
    "nothing is lost, applied twice or out of order when servers and receivers fail",
    "npm run --silent chaos -- --only 'leader, which' --only 'beyond its leases' --only 'of a shard down' --only 'immediate stop of the primary'",
  ],
  [
    "a release works beside the next one, can be rolled back, and stops when it is too old",
    "npm run --silent chaos -- --only 'rolls forward'",
  ],
  ["the packages in real projects", "npm run --silent projects -- --quick"],
  [
    "the files of deployments, and publishing",
    "npx --no-install vitest run test/system/package/deployment.test.ts test/system/package/publish.test.ts",
  ],
  [
    "the examples, as npm run example starts them",
    "npx --no-install vitest run test/system/package/examples.test.ts test/system/package/reconciled-example.test.ts",
  ],
  ["two builds give the same tarballs", "node --import tsx test/gates/check-reproducible.mjs"],
  [
    "a mock at its bounds fits in the documented heap",
    "node --max-old-space-size=1024 --conditions=workspace-tasks-source --import tsx test/gates/mock-at-bounds.ts",
  ],
  ["the packed tarballs", "node --import tsx test/gates/check-package.mjs"],
  [
    "the code in the documents compiles against the build",
    "node node_modules/typescript-7/bin/tsc -p test/gates/examples.tsconfig.json",
  ],
  ["the bill of materials", "node --import tsx scripts/sbom.mjs --check"],
  ["licences of what is shipped", "node --import tsx test/gates/check-licences.mjs"],
].filter(([name]) => name.includes(values.only));

if (gates.length === 0) {
  console.error(`there is no gate named ${JSON.stringify(values.only)}`);
  process.exit(2);
}
const gatesAtOnce = 3;
const startedAt = performance.now();
const waiting = [...gates];
while (waiting.length > 0) {
  const next = waiting.findIndex(isAlone);
  const together = waiting.splice(0, next === 0 ? 1 : next < 0 ? waiting.length : next);
  await Promise.all(Array.from({ length: gatesAtOnce }, () => runInTurn(together)));
  if (process.exitCode) process.exit();
}
console.log(`\nall ${gates.length} gates passed in ${secondsSince(startedAt, 0)} s`);

/** Runs gates until none is left, or one has failed. */
async function runInTurn(left) {
  for (let gate = left.shift(); gate && !process.exitCode; gate = left.shift()) await run(gate);
}

async function run(gate) {
  const [name, command] = gate;
  const gateStartedAt = performance.now();
  const title = `\n── ${name}: ${command}`;
  let status;
  if (isAlone(gate)) {
    console.log(title);
    status = spawnSync(command, { cwd: root, stdio: "inherit", shell: true }).status;
  } else {
    console.log(`… ${name}`);
    const { code, output } = await capture(command, [], { cwd: root, shell: true });
    console.log(`${title}\n${output.trimEnd()}`);
    status = code;
  }
  const seconds = secondsSince(gateStartedAt, 1);
  if (status === 0) return console.log(`✓ ${name} (${seconds} s)`);
  console.error(`\n✗ ${name} failed after ${seconds} s; run it alone with: ${command}`);
  process.exitCode = 1;
}

function isAlone([, , kind]) {
  return kind === "alone";
}

function secondsSince(sinceMs, digits) {
  return ((performance.now() - sinceMs) / 1000).toFixed(digits);
}
