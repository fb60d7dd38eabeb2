import { CommandError, type CommandIo, UsageError, write } from "@workspace-tasks/kernel/cli/command-line.ts";
import { lineWidth, reflow } from "@workspace-tasks/kernel/layout.ts";
import { type Plan, planProbes } from "../../compare/catalogue/catalogue.ts";
import { endpointLine, endpointsText } from "../../compare/report/text-report.ts";
import { describeProbe } from "../../compare/rules/probe.ts";
import type { CreatedEndpoint } from "../../compare/run/created-endpoints.ts";

/** Lists what the run would do to the service, and asks. @throws CommandError unless the user agrees */
export async function confirmWrites(plan: Plan, baseUrl: string, io: CommandIo): Promise<void> {
  const { permissions } = plan;
  const texts = [
    ...(permissions.has("write") ? [writesText(plan, baseUrl)] : []),
    ...(permissions.has("exceed") ? [exceedText(baseUrl)] : []),
  ];
  if (texts.length === 0) return;
  io.stderr.write(`${reflow(texts.join("\n"), lineWidth(io.stderr))}\n`);
  const flag = permissions.has("write") ? "--writes" : "--exceed-rate-limit";
  if (!io.ask) throw new UsageError(`${flag}: expected a terminal to ask at; write ${flag} --yes to agree`);
  if (!isYes(await io.ask("Continue? [y/N] "))) throw new CommandError("nothing was sent");
}

/** Names what earlier runs have left, and asks; `--yes` agrees. Without a terminal it names how to remove them. */
export async function agreesToRemove(
  endpoints: readonly CreatedEndpoint[],
  { yes }: { readonly yes: boolean },
  io: CommandIo,
): Promise<boolean> {
  const count = endpointsText(endpoints.length);
  write(io, `Earlier runs have left ${count}:\n${endpoints.map(endpointLine).join("\n")}\n`, io.stderr);
  if (yes) return true;
  if (!io.ask) throw new UsageError("--clean: expected a terminal to ask at; write --clean --yes to agree");
  return isYes(await io.ask(`Remove ${endpoints.length === 1 ? "it" : "them"}? [y/N] `));
}

const isYes = (answer: string) => /^y(es)?$/i.test(answer.trim());

function writesText(plan: Plan, baseUrl: string): string {
  const writes = planProbes(plan).filter(({ permission }) => permission !== "read");
  const lines = writes.map((probe) => `  ${describeProbe(probe)}\n`).join("");
  return `compare would send these mutations to ${baseUrl}:

${lines}
The webhook endpoints have URLs at receiver.invalid, or at the loopback address of the service, where no receiver gets a
delivery. They are removed at the end, also after Ctrl-C. The other mutations refer to records that do not exist, or are
validated without being executed.
`;
}

const exceedText = (baseUrl: string) =>
  `compare would use up the rate limit of the key at ${baseUrl}: about 250 queries in three minutes, until it gets a 429. Other
users of the key are rejected for up to a minute, and make the result wrong.
`;
