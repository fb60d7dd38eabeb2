import {
  CommandError,
  type CommandIo,
  defineCommand,
  UsageError,
  write,
  writeData,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import type { ControlApi } from "../../control/control-api.ts";
import { readSnapshotFile, writeSnapshotFile } from "../../node/snapshot-file.ts";
import { reasonOf } from "../reason-of.ts";
import { mockUrlFlags, withRunningMock } from "./running-mock.ts";

/** Runs `workspace-tasks snapshot` and returns its exit code. */
export const runSnapshotCommand = defineCommand({
  name: "snapshot",
  synopsis: "save|restore <file.json> [options]",
  about: `Saves the whole state of a running mock to a file, or restores one. A mock can
also start from such a file: workspace-tasks mock --state <file.json>.`,
  parameters: [
    ["save <file.json>", "writes the file, or - for standard output; replaces a snapshot"],
    ["restore <file.json>", "replaces the state of the mock"],
  ],
  flags: mockUrlFlags,
  notes: `Exit code: 0 done, 1 the file cannot be used or the mock did not respond, 2
wrong arguments.`,
  run({ positionals: [action, file, ...others], rest, flags }, io) {
    if (action !== "save" && action !== "restore") {
      throw new UsageError(
        `expected save or restore, got ${action === undefined ? "nothing" : JSON.stringify(action)}`,
      );
    }
    if (file === undefined || others.length + rest.length > 0) {
      throw new UsageError(
        `${action}: expected one file, such as state.json, got ${file === undefined ? "none" : "several"}`,
      );
    }
    return withRunningMock(flags, io, async (control) => {
      if (action === "save") return save(control, file, io);
      await restore(control, file);
      return write(io, `restored from ${file}\n`);
    });
  },
});

async function save(control: ControlApi, file: string, io: CommandIo): Promise<0> {
  const text = JSON.stringify(await control.getSnapshot());
  if (file === "-") return writeData(io, `${text}\n`);
  await writeSnapshotFile(file, text).catch((error: unknown) => {
    throw new CommandError(
      `save: cannot write ${file}: ${reasonOf(error)}; name another file, or - to print`,
    );
  });
  return write(io, `saved to ${file}\n`);
}

async function restore(control: ControlApi, file: string): Promise<void> {
  const snapshot = await readSnapshotFile(file).catch((error: unknown) => {
    throw new CommandError(`restore: cannot use ${file}: ${reasonOf(error)}`);
  });
  if (!snapshot) throw new CommandError(`restore: there is no file ${file}`);
  await control.restoreSnapshot(snapshot);
}
