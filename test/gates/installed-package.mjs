// The README from top to bottom in a new project, into which npm installs the packed build and its peers. The same test
// is a part of `npm test`, with links instead. Then publishing, to a registry in this process. Needs a build and the npm registry.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const { status } = spawnSync(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "test/system/package/packed-install.test.ts",
    "test/system/package/publish.test.ts",
  ],
  {
    cwd: join(import.meta.dirname, "../.."),
    stdio: "inherit",
    env: { ...process.env, WORKSPACE_TASKS_INSTALL: "npm" },
  },
);
process.exitCode = status ?? 1;
