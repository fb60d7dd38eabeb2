import { CommandError, UsageError } from "@workspace-tasks/kernel/cli/command-error.ts";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { flag, text, wholeNumber } from "@workspace-tasks/kernel/cli/flags.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { type InboxRowReference, type InboxRowState, type InboxStore, rowStates } from "../inbox/inbox.ts";
import { replayRow } from "../maintenance/replay.ts";
import { backup, restore } from "./backup-commands.ts";
import { renderRow, renderRows, renderStats, rowToJson } from "./inbox-report.ts";
import { inboxCommand, position, sourceFlag } from "./inbox-subcommand.ts";

const statesFlag = (about: string) =>
  flag("<states>", `${about}: ${rowStates.join(", ")}; several with commas`, {
    parse: parseStates,
    expected: rowStates.join(", "),
    known: rowStates,
  });

const list = inboxCommand({
  name: "list",
  about: "list rows, newest first",
  flags: {
    source: text("<name>", "only rows of this endpoint"),
    state: statesFlag("only rows in these states"),
    limit: wholeNumber("at most this many rows", { ...position, fallback: 50 }),
    before: wholeNumber("only rows stored before the row with this SEQ", position),
  },
  check: cli.noArgument,
  async use(inbox, { flags: { source, state: states, limit, before: beforeSeq } }) {
    const rows = await inbox.list({ source, states, limit, beforeSeq });
    return { text: (layout) => renderRows(rows, layout), value: rows };
  },
});

const show = inboxCommand({
  name: "show",
  synopsis: "<webhook-id> [options]",
  about: "show one row with its body",
  flags: { source: sourceFlag },
  check: (args) => cli.onlyArgument(args, "one webhook-id"),
  async use(inbox, args) {
    const row = { source: args.flags.source, id: cli.onlyArgument(args, "one webhook-id") };
    const found = await inbox.get(row);
    if (!found) throw new CommandError(`no row ${row.id} of source ${row.source}`, 1);
    return { text: (layout) => renderRow(found, layout), value: rowToJson(found) };
  },
});

const stats = inboxCommand({
  name: "stats",
  about: "count waiting, dead and quarantined rows up to 1,000, and show the longest wait",
  flags: {},
  check: cli.noArgument,
  async use(inbox) {
    const counts = await inbox.stats();
    return { text: ({ paint }) => renderStats(counts, paint), value: counts };
  },
});

/** A subcommand that changes rows, given by their ids or by their states. */
const changeCommand = (
  name: string,
  about: string,
  change: (inbox: InboxStore, row: InboxRowReference) => Promise<string>,
): cli.Subcommand =>
  inboxCommand({
    name,
    synopsis: "[<webhook-id>…] [options]",
    about,
    flags: { source: sourceFlag, state: statesFlag("instead of ids, all rows in these states") },
    check({ flags, positionals }) {
      if (positionals.length > 0 !== (flags.state !== undefined)) return;
      const got = flags.state === undefined ? "neither" : "both";
      throw new UsageError(`expected either webhook-ids or --state <states>, got ${got}`);
    },
    async use(inbox, { flags: { source, state }, positionals }) {
      const value: (InboxRowReference & { readonly outcome: string })[] = [];
      const rows = state ? rowsIn(inbox, source, state) : positionals.map((id) => ({ source, id }));
      for await (const { id } of rows)
        value.push({ source, id, outcome: await change(inbox, { source, id }) });
      const none = `no row of source ${source} is ${state?.join(" or ")}\n`;
      return {
        text: () => value.map(({ id, outcome }) => `${id}  ${outcome}\n`).join("") || none,
        value,
        exitCode: value.some(({ outcome }) => outcome.startsWith("not-")) ? 1 : 0,
      };
    },
  });

const replay = changeCommand(
  "replay",
  "pass dead, quarantined or settled events to their handlers again",
  (inbox, row) => replayRow(inbox, row, systemClock.now()),
);

const discard = changeCommand("discard", "discard dead or quarantined rows", async (inbox, row) => {
  if (await inbox.discard(row)) return "discarded";
  return (await inbox.get(row)) ? "not-discardable" : "not-found";
});

/** Runs `workspace-tasks-inbox` and returns its exit code. */
export function runInboxCommand(argv: readonly string[], io: cli.CommandIo): Promise<number> {
  const group = {
    name: "",
    about: "Inspects and repairs the inbox of a receiver, a SQLite file or PostgreSQL.",
    subcommands: { list, show, replay, discard, stats, backup, restore },
  };
  return cli.runCommandGroup(group, argv, io);
}

async function* rowsIn(
  inbox: InboxStore,
  source: string,
  states: readonly InboxRowState[],
): AsyncGenerator<InboxRowReference> {
  // A changed row leaves the state but keeps its position, so pages go by position.
  let page = await inbox.list({ source, states, limit: 100 });
  for (let last = page.at(-1); last; last = page.at(-1)) {
    yield* page;
    page = await inbox.list({ source, states, limit: 100, beforeSeq: last.seq });
  }
}

function parseStates(value: string): readonly InboxRowState[] | undefined {
  const states = value.split(",").map((each) => rowStates.find((state) => state === each));
  return states.every((state) => state !== undefined) ? states : undefined;
}
