import { once } from "node:events";
import { CommandError } from "@workspace-tasks/kernel/cli/command-error.ts";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { toggle } from "@workspace-tasks/kernel/cli/flags.ts";
import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import type { SeedView } from "../../control/settings/settings-routes.ts";
import { reasonOf } from "../reason-of.ts";
import { logMock } from "./log-mock.ts";
import { mockFlags, portFlag } from "./mock-options.ts";
import { type RunningMock, startMock } from "./start-mock.ts";

const flags = {
  port: portFlag(4010),
  ...mockFlags,
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
    const { host, state, json, quiet } = args.flags;
    const running = await startMock(args.flags, (message) => cli.writeNotice(io, "mock", message));
    const seedData = await running.mock.control.getSeedData();
    const ready = json
      ? `${JSON.stringify({ ...readyLine(running), seedData })}\n`
      : greeting(running, seedData);
    cli.write(io, ready);
    if (!isLoopbackHost(host)) cli.writeNotice(io, "mock", networkWarning(host));
    const stopLog = json || quiet ? null : logMock(running.mock, io);
    if (!io.stop.aborted) await once(io.stop, "abort");
    stopLog?.();
    await running.stop().catch((error: unknown) => {
      throw new CommandError(`--state: cannot write ${state}: ${reasonOf(error)}`);
    });
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

function greeting({ mock, signingSecret }: RunningMock, seedData: SeedView): string {
  return `The mock service is ready.

  base url         ${mock.baseUrl}
  gateway url      ${mock.gatewayUrl}
  inspector        ${mock.inspectorUrl}
  workspace        ${mock.workspaceId}
  api key          ${mock.apiKey}
  partner api key  ${mock.partnerApiKey}${signingSecret ? `\n  signing secret   ${signingSecret}` : ""}
  time             ${new Date(mock.clock.now()).toISOString()} (${mock.clock.mode})
${memberLines(seedData)}
Ctrl+C stops it.
`;
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
