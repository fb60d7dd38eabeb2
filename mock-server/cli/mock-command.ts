import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { isatty } from "node:tty";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import { type Paint, painter, usesColor } from "@workspace-tasks/kernel/layout.ts";
import type { SeedView } from "../control/settings.ts";
import type { MockServer } from "../create-mock.ts";
import type { MockWorld } from "../mock-world.ts";
import { createLogOutput } from "./activity-log.ts";
import { mockFlagsWith, portFlag, type RunningMock, startMock } from "./start-mock.ts";

const portDefault = 4010;

const flags = {
  port: portFlag(portDefault),
  ...mockFlagsWith("print the secret"),
  json: cli.toggle("print one line of JSON when ready, and no log"),
  quiet: cli.toggle("no log of requests and deliveries"),
};

const runMock = cli.defineCommand({
  name: "mock",
  synopsis: "[options]",
  about: `Runs the whole service in memory: GraphQL at /graphql and /gateway/graphql,
uploads at /api/uploads, the control API at /_mock/v1, the inspector at /_mock/.
Prints its URLs and keys, then a line for each request and delivery attempt:
time, HTTP status, operation or event, and why it failed. Ctrl+C stops it. To
run a command while the mock runs, see workspace-tasks mock exec --help.`,
  flags,
  notes: "Exit code: 0 stopped, 1 could not start, 2 wrong arguments.",
  async run(args, io) {
    cli.noArgument(args, "flags, or exec as the first argument", ["exec"]);
    const { host, json, quiet } = args.flags;
    const running = await startMock(args.flags, (message) => cli.writeNotice(io, "mock", message));
    const seedData = await running.mock.control.getSeedData();
    if (json) cli.writeData(io, `${JSON.stringify({ ...readyLine(running), seedData })}\n`);
    else cli.write(io, greeting(running, seedData, painter(usesColor(io))));
    if (!isLoopbackHost(host)) cli.writeNotice(io, "mock", networkWarning(host));
    const stopLog = json || quiet ? null : logMock(running.mock, io);
    if (!io.stop.aborted) await once(io.stop, "abort");
    stopLog?.();
    await running.stop();
    return 0;
  },
});

/** Runs `workspace-tasks mock` until it is asked to stop, and returns its exit code. */
export async function runMockCommand(argv: readonly string[], io: cli.CommandIo): Promise<number> {
  if (argv[0] !== "exec") return runMock(argv, io);
  return runExecCommand(argv.slice(1), io);
}

function readyLine({ mock, signingSecret }: RunningMock) {
  const { baseUrl, gatewayUrl, inspectorUrl, apiKey, partnerApiKey, workspaceId } = mock;
  const addresses = { baseUrl, gatewayUrl, inspectorUrl };
  return { ready: true, ...addresses, apiKey, partnerApiKey, workspaceId, signingSecret };
}

function greeting(running: RunningMock, seedData: SeedView, paint: Paint): string {
  const { mock, signingSecret } = running;
  return `The mock service is ready.

  base url         ${paint(mock.baseUrl, "bold")}
  gateway url      ${mock.gatewayUrl}
  inspector        ${paint(mock.inspectorUrl, "bold")}
  workspace        ${mock.workspaceId}
  api key          ${mock.apiKey}
  partner api key  ${mock.partnerApiKey}${signingSecret ? `\n  signing secret   ${signingSecret}` : ""}
  time             ${new Date(mock.clock.now()).toISOString()} (${mock.clock.mode})
${memberLines(seedData)}
${nextStep(running, paint)}
Ctrl+C stops it.
`;
}

/** The command that shows the most: an event at the receiver, or how to register one. */
function nextStep({ mock, signingSecret }: RunningMock, paint: Paint): string {
  if (signingSecret === undefined) {
    return "Next: open the inspector, or start with --deliver-to <url of your receiver>.";
  }
  const { port } = new URL(mock.baseUrl);
  const address = port === String(portDefault) ? "" : ` --mock ${port}`;
  const command = `npx workspace-tasks trigger task.completed${address}`;
  return `Next, in another terminal:\n\n  ${paint(command, "bold")}\n`;
}

/** The keys of the members of the seed data, when there are more than the mock's own. */
function memberLines({ workspaces }: SeedView): string {
  const members = Object.entries(workspaces).flatMap(([workspace, view]) =>
    Object.entries(view.members).map(([email, { apiKey }]) => `  ${apiKey}  ${email} of ${workspace}\n`),
  );
  return members.length < 2 ? "" : `\nKeys of the seed data:\n\n${members.join("")}`;
}

const networkWarning = (host: string) =>
  `others on the network can reach it at ${host}; it is meant for this computer only`;

const execFlags = {
  port: portFlag(0),
  ...mockFlagsWith("pass the secret on"),
  verbose: cli.toggle("log requests and deliveries to stderr"),
};

/** Runs `workspace-tasks mock exec` and returns the command's exit code. */
export const runExecCommand = cli.defineCommand({
  name: "mock exec",
  synopsis: "[options] -- <command> …",
  about: `Runs the command while a mock runs, with these variables; URLs go to stderr.
No other WORKSPACE_TASKS_ variable is passed; -- env <name>=<value> … sets one.

  WORKSPACE_TASKS_BASE_URL, _GATEWAY_URL, _INSPECTOR_URL, _WORKSPACE_ID, _API_KEY, _PARTNER_API_KEY, and with --deliver-to _SIGNING_SECRET`,
  flags: execFlags,
  notes: `Exit code: the command's; 128 and the signal's number when a signal ended it;
127 no such command; 126 the command could not be run; 1 the mock could not
start; 2 wrong arguments.`,
  async run({ flags, positionals, rest }, io) {
    cli.noArgument({ positionals, rest: [] }, "flags, then -- and the command");
    const [file, ...args] = rest;
    if (file === undefined) throw new cli.UsageError("expected a command after --, such as -- npm test");
    const running = await startMock(flags, (message) => cli.writeNotice(io, "mock exec", message));
    const { mock } = running;
    cli.writeNotice(io, "mock exec", `mock at ${mock.baseUrl}`);
    cli.writeNotice(io, "mock exec", `inspector ${mock.inspectorUrl}`);
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
  io: cli.CommandIo,
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
function childEnv(io: cli.CommandIo, own: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { env } = io;
  const family = Object.keys(env).filter((name) => name.toUpperCase().startsWith("WORKSPACE_TASKS_"));
  const foreign = family.filter((name) => !Object.hasOwn(own, name));
  if (foreign.length > 0)
    cli.writeNotice(
      io,
      "mock exec",
      `not passed to the command: ${foreign.join(", ")}; see mock exec --help`,
    );
  return { ...env, ...Object.fromEntries(foreign.map((name) => [name, undefined])), ...own };
}

function notStarted(file: string, error: Error, io: cli.CommandIo): number {
  const isFound = !("code" in error && error.code === "ENOENT");
  const reason = isFound ? `could not be run: ${error.message}` : "was not found";
  cli.writeNotice(io, "mock exec", `the command ${JSON.stringify(file)} ${reason}`);
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

/** Logs what happens in a mock and its worlds; the function that is returned stops it. */
function logMock(mock: MockServer, io: cli.CommandIo): () => void {
  const output = createLogOutput(io);
  // Weak: a world that is dropped, such as that of each test, must not stay in memory.
  const stops = new WeakMap<MockWorld, () => void>();

  const follow = (world: MockWorld, name: string | undefined) => {
    const options = { date: world.clock.mode === "virtual", world: name };
    const stop = world.subscribe((activity) => {
      if (activity.type === "world.created") {
        const created = mock.worlds.get(String(activity["name"]));
        if (created) follow(created, created.name);
      }
      output.print(activity, options);
    });
    stops.set(world, stop);
  };
  follow(mock, undefined);
  for (const world of mock.worlds.list()) follow(world, world.name);

  return () => {
    for (const world of [mock, ...mock.worlds.list()]) stops.get(world)?.();
    // A reader that has stopped reading must not keep the process alive.
    if ((io.stdout.writableLength ?? 0) > 0) io.endsUnread?.(500);
  };
}
