import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import {
  durationText,
  lineWidth,
  type Paint,
  painter,
  renderTable,
  usesColor,
  wrapBehind,
} from "@workspace-tasks/kernel/layout.ts";
import type { SubTask, Task } from "@workspace-tasks/sdk";
import { serviceFlags, withService } from "./service.ts";

const json = cli.toggle("print JSON instead of text");
const notes = "Exit code: 0 done, 1 not found or the call failed, 2 wrong arguments.";

const listTasks = cli.defineCommand({
  name: "tasks list",
  synopsis: "[options]",
  about: "Lists tasks of the workspace, newest first.",
  flags: {
    ...serviceFlags,
    status: cli.list("<names>", "only these: RUNNING, COMPLETED, FAILED; several with commas"),
    type: cli.list("<names>", "only these types, such as TAX_PREP"),
    client: cli.list("<ids>", "only tasks of these clients"),
    limit: cli.wholeNumber("at most this many", { min: 1, max: 10_000, fallback: 20 }),
    json,
  },
  notes,
  async run(args, io) {
    cli.noArgument(args);
    const { status, type, client: clientIds, limit, json: asJson } = args.flags;
    const tasks = await withService(args.flags, io, ({ client }) =>
      client.tasks
        .list(
          {
            statuses: given(status),
            types: given(type),
            clientIds: given(clientIds),
            limit: Math.min(limit, 100),
          },
          { signal: io.stop },
        )
        .toArray({ maxItems: limit }),
    );
    if (asJson) return cli.writeData(io, cli.toJson(tasks));
    return cli.write(io, tasks.length === 0 ? "no task\n" : tableOf(tasks, io));
  },
});

const given = (names: readonly string[]) => (names.length === 0 ? undefined : names);

const showTask = cli.defineCommand({
  name: "tasks show",
  synopsis: "<task-id> [options]",
  about: "Shows one task with its stages, its result, and why it failed.",
  flags: { ...serviceFlags, json },
  notes,
  async run(args, io) {
    const id = cli.onlyArgument(args, "one task id");
    const task = await withService(args.flags, io, ({ client }) => client.tasks.get(id, { signal: io.stop }));
    return args.flags.json ? cli.writeData(io, cli.toJson(task)) : cli.write(io, textOf(task, io));
  },
});

/** Runs `workspace-tasks tasks` and returns its exit code. */
export const runTasksCommand: cli.RunCommand = (argv, io) =>
  cli.runCommandGroup(
    {
      name: "tasks",
      about: "Shows tasks of the real service, or of a mock.",
      subcommands: {
        list: { about: "list tasks, newest first", run: listTasks },
        show: { about: "show one task with its stages and its result", run: showTask },
      },
    },
    argv,
    io,
  );

function tableOf(tasks: readonly Task[], io: cli.CommandIo): string {
  const paint = painter(usesColor(io));
  const columns = [
    { title: "TASK" },
    { title: "STATUS", paint: (cell: string) => statusOf(cell.trim(), paint) },
    { title: "TYPE", optional: true },
    { title: "STARTED", optional: true },
    { title: "CLIENT", optional: true, flexible: true },
  ];
  const rows = tasks.map(({ id, status, type, startedAt, client }) => [
    id,
    status,
    type,
    startedAt,
    client?.name ?? "",
  ]);
  return renderTable(columns, rows, lineWidth(io.stdout));
}

const statusOf = (status: string, paint: Paint) =>
  paint(status, status === "FAILED" ? "bad" : status === "COMPLETED" ? "good" : "info");

function textOf(task: Task, io: cli.CommandIo): string {
  const paint = painter(usesColor(io));
  const { id, status, type, client, startedAt, completedAt, errorMessage, subTasks, result } = task;
  const { __typename, ...details } = result;
  const fields: readonly (readonly [string, string])[] = [
    ["task", id],
    ["status", statusOf(status, paint)],
    ["error", errorMessage ?? ""],
    ["type", type],
    ["client", client ? `${client.name} (${client.id})` : ""],
    ["started", startedAt],
    ["completed", completedAt === null ? "" : `${completedAt}, after ${between(startedAt, completedAt)}`],
    ...task.attributes.map(({ name, value }) => [name, value] as const),
    ...subTasks.map((stage, index) => [index === 0 ? "stages" : "", stageText(stage, paint)] as const),
    ["result", __typename === "TaskTaxPrepResult" ? JSON.stringify(details) : ""],
  ];
  const shown = fields.filter(([, value]) => value !== "");
  const column = Math.max(...shown.map(([name]) => name.length));
  const width = lineWidth(io.stdout);
  return shown.map(([name, value]) => `${wrapBehind(`${name.padEnd(column)}  `, value, width)}\n`).join("");
}

function stageText({ type, status, startedAt, completedAt, errorMessage }: SubTask, paint: Paint): string {
  const took = completedAt === null ? "" : ` after ${between(startedAt, completedAt)}`;
  return `${type} ${statusOf(status, paint)}${took}${errorMessage ? `: ${errorMessage}` : ""}`;
}

const between = (from: string, to: string) => durationText(Date.parse(to) - Date.parse(from));
