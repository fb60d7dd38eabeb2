import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { commands } from "../../../mock-server/tools/program.ts";
import { runInboxCommand } from "../../../receiver-kit/cli/inbox-command.ts";
import { widthOf } from "../../../sdk/kernel/layout.ts";
import { claimOptions, runningAt } from "../../support/inbox-rows.ts";
import { sqliteInbox } from "../../support/inbox-stores.ts";
import { type CapturedCommand, runCommand } from "../../support/run-command.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { withFolder } from "../../support/with-folder.ts";

type Io = NonNullable<Parameters<typeof runCommand>[2]>;
type RunWith = (io: Io) => Promise<CapturedCommand>;

const named = async (argv: readonly string[], io: Io) => {
  const [name = "", ...rest] = argv;
  const command = commands[name];
  if (!command) return runCommand(runInboxCommand, argv, { program: "workspace-tasks-inbox", ...io });
  return runCommand(await command.load(), rest, io);
};

const widths = [60, 120];

/** Words as they are without a terminal; a cell that is shortened ends with `…`. */
const wordsOf = (text: string) => stripVTControlCharacters(text).split(/\s+/).filter(Boolean);

/** The output at each width has no wider line but a word alone, and no part of a word. */
async function expectToFit(run: RunWith, whole: string): Promise<void> {
  const known = wordsOf(whole);
  for (const columns of widths) {
    for (const env of [{}, { NO_COLOR: "1" }]) {
      const { out, err } = await run({ columns, env });
      const text = out + err;
      const wide = text.split("\n").filter((line) => widthOf(line) > columns && wordsOf(line).length > 1);
      expect(wide, `${columns} columns`).toEqual([]);
      const broken = wordsOf(text).filter((word) => !word.endsWith("…") && !known.includes(word));
      expect(broken.filter(isText), `${columns} columns`).toEqual([]);
      if ("NO_COLOR" in env) expect(text).not.toContain("\u001b[3");
    }
  }
}

/** Not a number, a unit of time or a URL: they differ between two runs. */
const isText = (word: string) => !/\d|^(?:ms|s|min|h|d)$/.test(word);

const programs: Readonly<Record<string, readonly string[]>> = {
  mock: ["mock"],
  "mock exec": ["mock", "exec"],
  ...Object.fromEntries(Object.keys(commands).map((name) => [name, [name]])),
  inbox: [],
  ...Object.fromEntries(
    ["list", "show", "replay", "discard", "stats"].map((name) => [`inbox ${name}`, [name]]),
  ),
};

describe("the width of a terminal", () => {
  it.each(Object.entries(programs))("the help and the errors of %s fit", async (name, argv) => {
    const help: RunWith = (io) => named([...argv, "--help"], io);
    const { out } = await help({});
    await expectToFit(help, out);
    if (name !== "compare") expect(out.trimEnd().split("\n").length).toBeLessThanOrEqual(30);
    const wrong: RunWith = (io) => named([...argv, "--no-such-flag", "and-an-argument"], io);
    const { err, code } = await wrong({});
    expect(code).toBe(2);
    await expectToFit(wrong, err);
  });

  it("the rows of an inbox fit", () =>
    withFolder(async (folder) => {
      const store = join(folder, "inbox.db");
      const inbox = sqliteInbox(store);
      await inbox.open();
      await inbox.insert(runningAt("task-1", 1, { id: "019bc186-de00-7000-8000-ed1a8db1b0cd" }));
      const [claim] = (await inbox.claim(claimOptions())).claims;
      const error = "Error: the client of this task is not known here, and 税 was not paid";
      await inbox.fail(claim!, { kind: "dead", error });
      const quarantine = "body is not JSON";
      await inbox.insert(
        runningAt("t", 1, { id: "odd", quarantine, body: Buffer.from(JSON.stringify(sampleEvent())) }),
      );
      await inbox.close();
      for (const argv of [
        ["list"],
        ["show", "odd"],
        ["show", "019bc186-de00-7000-8000-ed1a8db1b0cd"],
        ["stats"],
      ]) {
        const run: RunWith = (io) => named([...argv, "--store", store], io);
        const { out } = await run({});
        expect(out).not.toBe("");
        await expectToFit(run, out);
      }
      const wide = await named(["list", "--store", store], { columns: 120 });
      expect(wide.out).toMatch(/\[31mdead\S+ .*Error: the client of this task is not known…$/m);
      expect((await named(["show", "odd", "--store", store], {})).out).toMatch(/^\{\n {2}"\w+": /m);
    }));
});
