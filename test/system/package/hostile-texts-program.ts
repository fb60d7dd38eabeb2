// A program whose command prints texts of others in every way that commands do, as the programs of the packages run them.

import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { runProgram } from "@workspace-tasks/kernel/cli/run-program.ts";

const hostile = process.env["HOSTILE_TEXT"] ?? "";

const ways: Readonly<Record<string, (io: cli.CommandIo) => unknown>> = {
  text: (io) => cli.write(io, hostile),
  "text on stderr": (io) => cli.write(io, hostile, io.stderr),
  data: (io) => cli.writeData(io, cli.toJson({ hostile })),
  notice: (io) => cli.writeNotice(io, "print", hostile),
  stdout: (io) => io.stdout.write(hostile),
  stderr: (io) => io.stderr.write(hostile),
  error() {
    throw new Error(hostile);
  },
};

await runProgram({
  name: "hostile",
  async run([way = ""], io) {
    await ways[way]?.(io);
    return 0;
  },
});
