// No text of others reaches a terminal as what it obeys, whichever command prints it: all write through `runProgram`, which a
// house rule requires.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";

const hostile = "\u001b]0;title\u0007\u001b[2J\u202e\u009b\r\u200bFORGED\u{e0041}";

it.each(["text", "text on stderr", "data", "notice", "stdout", "stderr", "error"])(
  "a program escapes what a terminal would obey: %s",
  async (way) => {
    const program = await bundledProgram("test/system/package/hostile-texts-program.ts");
    const env = { ...process.env, HOSTILE_TEXT: hostile };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...program, way], { env }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    expect(stdout + stderr).toContain("FORGED");
    expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\u202e\u200b\u{e0041}]/u);
    if (way === "data") expect(JSON.parse(stdout)).toEqual({ hostile });
  },
);
