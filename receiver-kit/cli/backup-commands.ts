import { existsSync } from "node:fs";
import path from "node:path";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { CommandError, text, toggle, UsageError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { storeVariable } from "./inbox-subcommand.ts";

/** A subcommand that copies the file of a SQLite inbox. */
function copyCommand(command: {
  readonly name: string;
  readonly about: string;
  readonly notes: string;
  copy(file: string, other: string): Promise<{ readonly bytes: number; readonly report: string }>;
}): cli.Subcommand {
  const { name, about, notes, copy } = command;
  const run = cli.defineCommand({
    name,
    synopsis: "<backup file> [options]",
    about: `${about.charAt(0).toUpperCase()}${about.slice(1)}.`,
    flags: {
      store: text("<file>", `the SQLite file of the inbox (${storeVariable})`),
      json: toggle("print one JSON document instead of text"),
    },
    notes: `${notes}\nExit code: 0 done, 2 wrong arguments, or not done, with the reason.`,
    failureCode: 2,
    async run(args, io) {
      const { store = io.env[storeVariable], json } = args.flags;
      const backup = cli.onlyArgument(args, "one backup file");
      if (store === undefined) throw new UsageError(`expected --store <file> or ${storeVariable}`);
      if (/^[\w+.-]+:\/\//.test(store))
        throw new CommandError(
          `--store: ${name} is for SQLite files; for PostgreSQL use its own tools, such as pg_dump`,
        );
      const [file, other] = [path.resolve(store), path.resolve(backup)];
      if (file === other) throw new UsageError("expected two files, got the file of the inbox twice");
      const { bytes, report } = await copy(file, other).catch((error: unknown) => {
        throw isError(error) ? new CommandError(error.message) : error;
      });
      if (json) cli.writeData(io, cli.toJson({ file, backup: other, bytes }));
      else cli.write(io, `${report}\n`);
      return 0;
    },
  });
  return { about, run };
}

export const backup = copyCommand({
  name: "backup",
  about: "copy a SQLite inbox into a new file, also while receivers use it",
  notes: "The copy is checked, on disk, and for its owner only (mode 600).",
  async copy(file, other) {
    if (!existsSync(file)) throw new CommandError(`--store: no file ${file}; pass the file of sqliteInbox`);
    const { backUpSqlite } = await import("../inbox/sqlite/sqlite-backup.ts");
    const bytes = await backUpSqlite(file, other);
    return { bytes, report: `${other}  ${bytes} bytes` };
  },
});

export const restore = copyCommand({
  name: "restore",
  about: "put a backup in the place of a SQLite inbox that no process uses",
  notes: `The backup is checked first. The -wal and -shm of the inbox are removed. Its previous file is kept, with
the suffix .replaced: it has what was stored after the backup.`,
  async copy(file, other) {
    if (!existsSync(other)) throw new CommandError(`no file ${other}`);
    const { restoreSqlite } = await import("../inbox/sqlite/sqlite-backup.ts");
    const had = existsSync(file);
    const bytes = await restoreSqlite(file, other);
    const kept = had ? `; what was there before: ${file}.replaced` : "";
    return { bytes, report: `${file}  ${bytes} bytes${kept}` };
  },
});
