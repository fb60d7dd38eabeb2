import { spawnSync } from "node:child_process";
import { chmod, chown, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileJournal } from "@workspace-tasks/sdk";
import { describe, expect, it, vi } from "vitest";
import { openJournal } from "../../../support/memory-journal.ts";
import { codeOf, failureOf, outcomeOf } from "../../../support/outcome-of.ts";
import { withFolder } from "../../../support/with-folder.ts";

const groups = [['["a",1]', '["b",2]'], ['["c","é"]'], ['["d",4]', '["e",5]', '["f",6]']];

async function entriesOf(path: string, more: readonly string[] = []): Promise<readonly string[]> {
  const journal = await openJournal(fileJournal(path));
  if (more.length > 0) await journal.append(more).finally(() => journal.close());
  else await journal.close();
  return journal.entries;
}

async function write(path: string): Promise<void> {
  for (const group of groups) await entriesOf(path, group);
}

const inFile = (use: (path: string) => Promise<void>) =>
  withFolder((folder) => use(join(folder, "import.journal")));

const fileIt = (title: string, use: (path: string) => Promise<void>) => it(title, () => inFile(use));

describe("a journal in a file", () => {
  fileIt("yields what was appended, and continues after it", async (path) => {
    await write(path);
    expect(await entriesOf(path, ['["g",7]'])).toEqual(groups.flat());
    expect(await entriesOf(path)).toEqual([...groups.flat(), '["g",7]']);
  });

  fileIt("keeps the whole entries of a file that was cut, wherever, and continues there", async (path) => {
    await write(path);
    const whole = await readFile(path);
    for (let length = 0; length <= whole.byteLength; length++) {
      await writeFile(path, whole.subarray(0, length));
      const kept = await entriesOf(path, ['["next"]']);
      const lines = whole.subarray(0, length).toString().split("\n").length - 1;
      expect(kept).toEqual(groups.flat().slice(0, lines));
      expect(await entriesOf(path)).toEqual([...kept, '["next"]']);
    }
  });

  fileIt("cuts off zeros that a crash has left, after its entries or alone", async (path) => {
    await write(path);
    for (const text of [await readFile(path, "utf8"), ""]) {
      await writeFile(path, `${text}${"\0".repeat(5_000)}`);
      const kept = text === "" ? [] : groups.flat();
      expect(await entriesOf(path, ['["next"]'])).toEqual(kept);
      expect(await entriesOf(path)).toEqual([...kept, '["next"]']);
    }
  });

  fileIt("is damaged by a line that is missing or changed in the middle, and says which", async (path) => {
    await write(path);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(/^2 .*\n/m, "").padEnd(text.length, "x"));
    expect(await failureOf(entriesOf(path))).toMatchObject({
      code: "JOURNAL_DAMAGED",
      message: expect.stringContaining("line 2: expected number 2, got another"),
    });
  });

  it.each(["some text that is no journal\n", "short", "1 short", "\0\0mp4"])(
    "leaves a file with %j as it is",
    (text) =>
      inFile(async (path) => {
        await writeFile(path, text);
        expect(await codeOf(entriesOf(path, ["x"]))).toBe("JOURNAL_DAMAGED");
        expect(await readFile(path, "utf8")).toBe(text);
      }),
  );

  fileIt("leaves no lock where it cannot be opened", async (path) => {
    await mkdir(path);
    await expect(entriesOf(path)).rejects.toThrow("EISDIR");
    await expect(stat(`${path}.lock`)).rejects.toThrow("ENOENT");
  });

  fileIt("is of one process at a time, and says of which", async (path) => {
    const file = fileJournal(path);
    const journal = await openJournal(file);
    const error = await failureOf(openJournal(file));
    expect(error).toMatchObject({
      code: "JOURNAL_IN_USE",
      message: expect.stringContaining(`process ${process.pid}`),
    });
    await journal.append(["a"]);
    await journal.close();
    expect(await entriesOf(path)).toEqual(["a"]);
  });

  fileIt(
    "is not written by a process whose lock another one has taken, and ends its wait with its import",
    async (path) => {
      const journal = await openJournal(fileJournal(path));
      const lock = await readFile(`${path}.lock`, "utf8");
      await writeFile(`${path}.lock`, lock.replace(/"id":"[^"]+","pid":(\d+)/, '"id":"other","pid":$1'));
      const before = await readFile(path, "utf8");
      expect(await codeOf(journal.append(['["a"]']))).toBe("JOURNAL_IN_USE");
      expect(await readFile(path, "utf8")).toBe(before);
      await journal.close();
      // Of another container: it would be watched for a minute.
      await writeFile(`${path}.lock`, lock.replace(/"space":[^,]+/, '"space":"elsewhere"'));
      const opened = fileJournal(path).open(AbortSignal.abort(new Error("enough")));
      await expect(opened).rejects.toThrow("enough");
    },
  );

  it("needs a path, and creates no file without one", () => {
    for (const wrong of ["", undefined])
      expect(() => fileJournal(wrong as string)).toThrow("fileJournal: path: expected a string, got");
  });

  fileIt("is not blocked by a process that was killed", async (path) => {
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const journal = await openJournal(fileJournal(path));
    const lock = JSON.parse(await readFile(`${path}.lock`, "utf8"));
    await journal.close();
    await writeFile(`${path}.lock`, JSON.stringify({ ...lock, pid, id: "other" }));
    expect(await entriesOf(path)).toEqual([]);
  });
});

const isPosix = process.platform !== "win32";

it.runIf(isPosix)("a journal is no pipe and no device, whose mode stays", () =>
  inFile(async (path) => {
    spawnSync("mkfifo", ["-m", "666", path]);
    await expect(openJournal(fileJournal(path))).rejects.toThrow("expected a file at");
    expect((await stat(path)).mode & 0o777).toBe(0o666);
  }),
);

it.runIf(isPosix)("a journal that all users could read is closed to them, and a warning says so", () =>
  inFile(async (path) => {
    await write(path);
    await chmod(path, 0o644);
    const warnings: string[] = [];
    const warned = vi.spyOn(process, "emitWarning").mockImplementation((warning) => {
      warnings.push(String(warning));
    });
    expect(await entriesOf(path)).toEqual(groups.flat());
    await entriesOf(path);
    warned.mockRestore();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(warnings).toEqual([expect.stringContaining('import.journal" was open to all users')]);
  }),
);

it.runIf(isPosix && process.getuid?.() === 0).each([
  ["another user", 1_234, 0o600],
  ["root, which others can write", 0, 0o666],
])("a journal that another user has created is not used by %s", (_, uid, mode) =>
  inFile(async (path) => {
    await write(path);
    await chown(path, 4_242, 4_242);
    await chmod(path, mode);
    const before = await readFile(path, "utf8");
    const user = vi.spyOn(process, "getuid").mockReturnValue(uid);
    const failure = await outcomeOf(entriesOf(path, ['["client"]']));
    user.mockRestore();
    expect(String(failure)).toContain("belongs to another user (4242); give it to the user");
    expect(await readFile(path, "utf8")).toBe(before);
  }),
);
