// README.md from top to bottom: what it installs, its programs and its commands.
import assert from "node:assert/strict";
import { installedBy, type Project, shellLinesOf, shownBy } from "../project.ts";

const page = "README.md";
const inClone = ["npm start", "npm test"]; // test/system/package/start.test.ts, and all tests
const request = "npx workspace-tasks mock exec -- node first-request.mjs";
const receive =
  "npx workspace-tasks mock exec --port 4010 --deliver-to http://127.0.0.1:3000/webhooks -- node receiver.mjs";
const trigger = "npx workspace-tasks trigger task.completed";
const list = "npx workspace-tasks-inbox list --store webhooks.db";

const known = [...inClone, request, receive, trigger, list];
const unknown = shellLinesOf(page).filter(
  (line) => !line.startsWith("npm install ") && !known.includes(line),
);
if (unknown.length > 0) throw new Error(`no project runs what README.md shows: ${unknown.join(", ")}`);
/** Ports that may be in use here. */
const onFreePorts = (line: string) => line.replace("4010", "$MOCK_PORT").replace("3000", "$PORT");

export const readme: readonly Project[] = [
  {
    part: "pages",
    of: "workspace-tasks",
    how: "README, first request",
    install: installedBy(page, "Install"),
    files: { "first-request.mjs": shownBy(page, "client.me()") },
    run: request,
    prints: / is admin of [\s\S]*task\.completed/,
    quick: true,
  },
  {
    part: "pages",
    of: "workspace-tasks",
    how: "README, first webhook",
    install: [...installedBy(page, "Install"), ...installedBy(page, "First webhook")],
    files: { "receiver.mjs": shownBy(page, "createReceiver(") },
    serve: `exec ${onFreePorts(receive)}`,
    uses: async ({ said, run }) => {
      await said(/ready for webhooks/);
      const [, url] = await said(/mock at (\S+)/);
      assert.match(await run(`WORKSPACE_TASKS_BASE_URL=${url} ${trigger}`), / 200 {2}succeeded$/m);
      await said(/TAX_PREP \S+ is COMPLETED/);
      assert.match(await run(list), /done {3}task\.completed[\s\S]*done {3}task\.running/);
    },
    quick: true,
  },
];
