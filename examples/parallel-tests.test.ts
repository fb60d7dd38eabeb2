// Runs the Python example against a mock. It is not run on a machine without python3, and says so.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";
import { missingProgram } from "../test/support/shared-server.ts";

const python = await missingProgram("python");

describe.skipIf(python)(
  `a Python program with parallel tests${python ? ` (not run: ${python})` : ""}`,
  () => {
    mockTest("has a world for each test, and leaves none", async ({ mock }) => {
      const env = { ...process.env, WORKSPACE_TASKS_BASE_URL: mock.baseUrl };
      const { stdout } = await promisify(execFile)("python3", ["examples/parallel-tests.py"], { env });
      expect(stdout).toBe("16 tests passed\n");
      expect(mock.worlds.list()).toEqual([]);
    });
  },
);
