import { once } from "node:events";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { toggle } from "@workspace-tasks/kernel/cli/command-line.ts";
import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import { type Paint, painter, usesColor } from "@workspace-tasks/kernel/layout.ts";
import type { SeedView } from "../../control/settings/settings-routes.ts";
import { logMock } from "./log-mock.ts";
import { mockFlagsWith, portFlag } from "./mock-options.ts";
import { type RunningMock, startMock } from "./start-mock.ts";

const portDefault = 4010;

const flags = {
  port: portFlag(portDefault),
  ...mockFlagsWith("print the secret"),
  json: toggle("print one line of JSON when ready, and no log"),
  quiet: toggle("no log of requests and deliveries"),
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
  const { runExecCommand } = await import("./exec-command.ts");
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
