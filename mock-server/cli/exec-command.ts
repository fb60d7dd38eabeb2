import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import { type CommandIo, runCommand, UsageError } from "../../cli/command-line.ts";
import { mockFlagsHelp, readMockOrder } from "./mock-options.ts";
import { type RunningMock, startMock } from "./start-mock.ts";

const usage = `Usage: workspace-tasks mock exec [options] -- <command> …

Starts the mock on a free port, runs the command with these variables, stops
the mock, and ends with the command's exit code:

  WORKSPACE_TASKS_BASE_URL     _GATEWAY_URL      _INSPECTOR_URL   _WORKSPACE_ID
  WORKSPACE_TASKS_API_KEY      _PARTNER_API_KEY
  WORKSPACE_TASKS_SIGNING_SECRET (with --deliver-to)

  --port <n>                    port; 0 takes any that is free (0)
${mockFlagsHelp}  --help                        this text

Exit code: the command's; 128 and the signal's number when a signal ended it;
127 no such command; 126 the command could not be run; 1 the mock could not
start; 2 wrong arguments.
`;

/** Runs `workspace-tasks mock exec` and returns the command's exit code. */
export function runExecCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand({ command: "mock exec", usage }, argv, io, async () => {
    const separator = argv.indexOf("--");
    const [file, ...args] = separator === -1 ? [] : argv.slice(separator + 1);
    if (file === undefined) throw new UsageError("expected a command after --");
    const running = await startMock(readMockOrder(argv.slice(0, separator), 0));
    try {
      return await runBeside(running, { file, args }, io);
    } finally {
      await running.stop();
    }
  });
}

function runBeside(
  running: RunningMock,
  command: { readonly file: string; readonly args: readonly string[] },
  io: CommandIo,
): Promise<number> {
  const child = spawn(command.file, command.args, {
    stdio: "inherit",
    env: { ...io.env, ...variablesOf(running) },
  });
  // A terminal sends Ctrl+C to the child as well, and twice would mean "at once" to many programs.
  const toldByTerminal = () => io.isTTY === true && io.stop.reason === "SIGINT";
  const pass = () => {
    if (!toldByTerminal()) child.kill("SIGTERM");
  };
  if (io.stop.aborted) pass();
  else io.stop.addEventListener("abort", pass, { once: true });
  return new Promise<number>((resolve) => {
    child.once("error", (error) => resolve(notStarted(command.file, error, io)));
    child.once("exit", (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  }).finally(() => io.stop.removeEventListener("abort", pass));
}

function notStarted(file: string, error: Error, io: CommandIo): number {
  const found = exists(file, io.env["PATH"] ?? "");
  const reason = found ? `could not be run: ${error.message}` : "was not found";
  io.stderr.write(`mock exec: the command ${JSON.stringify(file)} ${reason}\n`);
  return found ? 126 : 127;
}

/** Asked of the file system: where a folder on the PATH may not be read, a missing command fails with EACCES. */
const exists = (file: string, path: string) =>
  /[\\/]/.test(file)
    ? existsSync(file)
    : path.split(delimiter).some((folder) => existsSync(join(folder, file)));

const variablesOf = ({ mock, signingSecret }: RunningMock) => ({
  WORKSPACE_TASKS_BASE_URL: mock.baseUrl,
  WORKSPACE_TASKS_GATEWAY_URL: mock.gatewayUrl,
  WORKSPACE_TASKS_INSPECTOR_URL: mock.inspectorUrl,
  WORKSPACE_TASKS_API_KEY: mock.apiKey,
  WORKSPACE_TASKS_PARTNER_API_KEY: mock.partnerApiKey,
  WORKSPACE_TASKS_WORKSPACE_ID: mock.workspaceId,
  ...(signingSecret === undefined ? {} : { WORKSPACE_TASKS_SIGNING_SECRET: signingSecret }),
});
