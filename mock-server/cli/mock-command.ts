import { CommandError, type CommandIo, runCommand } from "../../cli/command-line.ts";
import { isLoopbackHost } from "../rules/loopback.ts";
import { mockFlagsHelp, readMockOrder } from "./mock-options.ts";
import { type RunningMock, startMock } from "./start-mock.ts";

const portDefault = 4010;

const usage = `Usage: workspace-tasks mock [options]
       workspace-tasks mock exec [options] -- <command> …

Runs the whole service in memory: GraphQL at /graphql and /gateway/graphql,
uploads at /api/uploads, the control API at /_mock/v1, the inspector at /_mock/.
Prints where it listens and keys that are ready to use. Ctrl+C stops it.
"mock exec" runs a command beside it; see workspace-tasks mock exec --help.

  --port <n>                    port; 0 takes any that is free (${portDefault})
${mockFlagsHelp}  --json                        print one line of JSON when ready
  --help                        this text

Exit code: 0 stopped, 1 it could not start, 2 wrong arguments.
`;

/** Runs `workspace-tasks mock` until it is asked to stop, and returns its exit code. */
export async function runMockCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  if (argv[0] === "exec") {
    const { runExecCommand } = await import("./exec-command.ts");
    return runExecCommand(argv.slice(1), io);
  }
  return runCommand({ command: "mock", usage }, argv, io, async () => {
    const order = readMockOrder(argv, portDefault);
    const running = await startMock(order);
    io.stdout.write(order.json ? `${JSON.stringify(readyLine(running))}\n` : greeting(running));
    const { host } = order.server;
    if (host !== undefined && !isLoopbackHost(host)) io.stderr.write(openToOthers(host));
    await stopped(io.stop);
    await running.stop().catch((error: unknown) => {
      throw new CommandError(`the state could not be written to ${order.statePath}: ${messageOf(error)}`);
    });
    return 0;
  });
}

function readyLine({ mock, signingSecret }: RunningMock) {
  const { baseUrl, gatewayUrl, inspectorUrl, apiKey, partnerApiKey, workspaceId } = mock;
  return {
    ready: true,
    baseUrl,
    gatewayUrl,
    inspectorUrl,
    apiKey,
    partnerApiKey,
    workspaceId,
    signingSecret,
  };
}

function greeting({ mock, signingSecret }: RunningMock): string {
  return `The mock service is ready.

  base url         ${mock.baseUrl}
  gateway url      ${mock.gatewayUrl}
  inspector        ${mock.inspectorUrl}
  workspace        ${mock.workspaceId}
  api key          ${mock.apiKey}
  partner api key  ${mock.partnerApiKey}${signingSecret ? `\n  signing secret   ${signingSecret}` : ""}
  time             ${new Date(mock.clock.now()).toISOString()} (${mock.clock.mode})

Ctrl+C stops it.
`;
}

const openToOthers = (host: string) =>
  `mock: others on the network can reach it at ${host}; it is meant for this computer only\n`;

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
