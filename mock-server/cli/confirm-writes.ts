import { CommandError, UsageError } from "../../cli/command-error.ts";
import type { CommandIo } from "../../cli/command-line.ts";
import { type PlanInput, planProbes } from "../compare/plan/plan-probes.ts";

/** Lists what the run would do to the service, and asks. @throws CommandError unless the user agrees */
export async function confirmWrites(plan: PlanInput, baseUrl: string, io: CommandIo): Promise<void> {
  const writes = planProbes(plan).filter(({ permission }) => permission !== "read");
  const lines = writes.map(({ sends }) => `  ${sends}\n`).join("");
  io.stderr.write(`compare would send these mutations to ${baseUrl}:

${lines}
The webhook endpoints have URLs at receiver.invalid, which no delivery can reach, and are removed at the end, also after
Ctrl-C. The others refer to records that do not exist, or are validated without being executed.

`);
  if (!io.ask) throw new UsageError("--writes: expected a terminal to ask at; write --writes --yes to agree");
  const agreed = /^y(es)?$/i.test((await io.ask("Continue? [y/N] ")).trim());
  if (!agreed) throw new CommandError("nothing was sent", 2);
}
