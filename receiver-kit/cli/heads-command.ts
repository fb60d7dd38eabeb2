import { CommandError, UsageError } from "../../sdk/kernel/cli/command-error.ts";
import { noArgument, runCommandGroup, type Subcommand } from "../../sdk/kernel/cli/command-line.ts";
import { text, wholeNumber } from "../../sdk/kernel/cli/flags.ts";
import { listHeads, resetHead } from "../maintenance/heads.ts";
import { defaults } from "../options.ts";
import { renderHeads } from "./inbox-report.ts";
import { inboxCommand, position } from "./inbox-subcommand.ts";

const source = text("<name>", "endpoint of the head", defaults.source);

const list = inboxCommand({
  name: "heads list",
  about: "list ordering heads: the newest applied event of each task and stage",
  flags: {
    source,
    task: text("<id>", "only the heads of this task and its stages"),
    limit: wholeNumber("at most this many heads", { ...position, fallback: 50 }),
    after: text("<key>", "only heads after the one with this KEY"),
  },
  check: noArgument,
  async use(inbox, { flags: { task: taskId, after: afterKey, ...filter } }) {
    const found = await listHeads(inbox, { ...filter, taskId, afterKey });
    return { text: renderHeads(found), value: found };
  },
});

const reset = inboxCommand({
  name: "heads reset",
  about: "delete an ordering head: the next event is applied, however old it is",
  flags: {
    source,
    task: text("<id>", "the task"),
    stage: text("<id>", "the stage of the task, instead of the task itself"),
  },
  check(args) {
    noArgument(args);
    if (args.flags.task === undefined) throw new UsageError("expected --task <id>");
  },
  async use(inbox, { flags: { source, task: taskId = "", stage: subTaskId } }) {
    const name = subTaskId === undefined ? taskId : `${taskId}, stage ${subTaskId}`;
    if (!(await resetHead(inbox, source, { taskId, subTaskId })))
      throw new CommandError(`no head of ${name}`);
    return { text: `${name}  reset\n`, value: { source, taskId, subTaskId, outcome: "reset" } };
  },
});

const group = {
  name: "inbox heads",
  about: "Lists and resets ordering heads. An event older than its head changes no state.",
  subcommands: { list, reset },
};

export const heads: Subcommand = {
  about: "list and reset ordering heads",
  run: (argv, io) => runCommandGroup(group, argv, io),
};
