import { spawn } from "node:child_process";
import { constants } from "node:os";
import { isatty } from "node:tty";
import {
  type CommandIo,
  defineCommand,
  noArgument,
  toggle,
  UsageError,
  writeNotice,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { logMock } from "./log-mock.ts";
import { mockFlagsWith, portFlag } from "./mock-options.ts";
import { type RunningMock, startMock } from "./start-mock.ts";

const flags = {
  port: portFlag(0),
  ...mockFlagsWith("pass the secret on"),
  verbose: toggle("log requests and deliveries to stderr"),
};

/** Runs `workspace-tasks mock exec` and returns the command's exit code. */
export const runExecCommand = defineCommand({
  name: "mock exec",
  synopsis: "[options] -- <command> …",
  about: `Runs the command while a mock runs, with these variables; URLs go to stderr.
No other WORKSPACE_TASKS_ variable is passed; -- env <name>=<value> … sets one.

  WORKSPACE_TASKS_BASE_URL, _GATEWAY_URL, _INSPECTOR_URL, _WORKSPACE_ID, _API_KEY, _PARTNER_API_KEY, and with --deliver-to _SIGNING_SECRET`,
  flags,
  notes: `Exit code: the command's; 128 and the signal's number when a signal ended it;
127 no such command; 126 the command could not be run; 1 the mock could not
start; 2 wrong arguments.`,
  async run({ flags, positionals, rest }, io) {
    noArgument({ positionals, rest: [] }, "flags, then -- and the command");
    const [file, ...args] = rest;
    if (file === undefined) throw new UsageError("expected a command after --, such as -- npm test");
    const running = await startMock(flags, (message) => writeNotice(io, "mock exec", message));
    const { mock } = running;
    writeNotice(io, "mock exec", `mock at ${mock.baseUrl}`);
    writeNotice(io, "mock exec", `inspector ${mock.inspectorUrl}`);
    // The output of the command is its own.
    const stopLog = flags.verbose
      ? logMock(mock, { ...io, stdout: io.stderr, isTTY: io.stderr.isTTY })
      : null;
    try {
      return await spawnChild(running, { file, args }, io);
    } finally {
      stopLog?.();
      await running.stop();
    }
  },
});

function spawnChild(
  running: RunningMock,
  { file, args }: { readonly file: string; readonly args: readonly string[] },
  io: CommandIo,
): Promise<number> {
  const child = spawn(file, args, { stdio: "inherit", env: childEnv(io, variablesOf(running)) });
  // A terminal sends Ctrl+C to the child as well, and many programs end at once when they receive it twice. Behind `| tee`
  // or with a file for input, one of the other streams is the terminal.
  const hasTty = [io.isTTY, io.stderr.isTTY, isatty(0)].includes(true);
  const signalledByTty = () => hasTty && io.stop.reason === "SIGINT";
  let killing: NodeJS.Timeout | undefined;
  const forward = () => {
    if (!signalledByTty()) child.kill("SIGTERM");
    // No one is left to send a second signal.
    if (io.stop.reason === "parent ended") killing = setTimeout(() => child.kill("SIGKILL"), 5_000);
  };
  if (io.stop.aborted) forward();
  else io.stop.addEventListener("abort", forward, { once: true });
  return new Promise<number>((resolve) => {
    child.once("error", (error) => resolve(notStarted(file, error, io)));
    child.once("exit", (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  }).finally(() => {
    clearTimeout(killing);
    io.stop.removeEventListener("abort", forward);
  });
}

/** With production's inbox or secret beside the mock's URL and key, a test would mix the two. */
function childEnv(io: CommandIo, own: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { env } = io;
  const family = Object.keys(env).filter((name) => name.toUpperCase().startsWith("WORKSPACE_TASKS_"));
  const foreign = family.filter((name) => !Object.hasOwn(own, name));
  if (foreign.length > 0)
    writeNotice(io, "mock exec", `not passed to the command: ${foreign.join(", ")}; see mock exec --help`);
  return { ...env, ...Object.fromEntries(foreign.map((name) => [name, undefined])), ...own };
}

function notStarted(file: string, error: Error, io: CommandIo): number {
  const isFound = !("code" in error && error.code === "ENOENT");
  const reason = isFound ? `could not be run: ${error.message}` : "was not found";
  writeNotice(io, "mock exec", `the command ${JSON.stringify(file)} ${reason}`);
  return isFound ? 126 : 127;
}

const variablesOf = ({ mock, signingSecret }: RunningMock) => ({
  WORKSPACE_TASKS_BASE_URL: mock.baseUrl,
  WORKSPACE_TASKS_GATEWAY_URL: mock.gatewayUrl,
  WORKSPACE_TASKS_INSPECTOR_URL: mock.inspectorUrl,
  WORKSPACE_TASKS_API_KEY: mock.apiKey,
  WORKSPACE_TASKS_PARTNER_API_KEY: mock.partnerApiKey,
  WORKSPACE_TASKS_WORKSPACE_ID: mock.workspaceId,
  ...(signingSecret === undefined ? {} : { WORKSPACE_TASKS_SIGNING_SECRET: signingSecret }),
});
