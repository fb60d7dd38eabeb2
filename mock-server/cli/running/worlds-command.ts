import { UsageError } from "../../../sdk/kernel/cli/command-error.ts";
import { type Command, type CommandIo, runCommand, write } from "../../../sdk/kernel/cli/command-line.ts";
import { toggle } from "../../../sdk/kernel/cli/flags.ts";
import type { WorldView } from "../../control/worlds/world-routes.ts";
import { mockUrlFlags, withRunningMock } from "./running-mock.ts";

const flags = { mock: mockUrlFlags.mock, json: toggle("print one JSON document per world") };

const command: Command<typeof flags> = {
  name: "worlds",
  synopsis: "[list | create [<name>] | drop <name>…] [options]",
  about: `Lists, creates or drops the worlds of a running mock. A world has keys, a clock,
faults and deliveries of its own; main is the mock's own.`,
  parameters: [
    ["list", "lists them; the default"],
    ["create [<name>]", "creates a world; prints its URLs and keys"],
    ["drop <name>…", "ends worlds"],
  ],
  flags,
  notes: "Exit code: 0 done, 1 rejected or no mock responds, 2 wrong arguments.",
  run: ({ positionals: [action, ...names], rest, flags: { mock, json } }, io) =>
    withRunningMock({ mock, world: undefined }, io, async (control) => {
      const given = [...names, ...rest];
      const print = (world: WorldView) => write(io, json ? `${JSON.stringify(world)}\n` : lineOf(world));
      if (action === undefined || action === "list") {
        if (given.length > 0)
          throw new UsageError(`list: expected nothing more, got ${JSON.stringify(given[0])}`);
        for (const world of (await control.listWorlds()).data) print(world);
      } else if (action === "create") {
        if (given.length > 1)
          throw new UsageError(`create: expected one name, got ${JSON.stringify(given.join(" "))}`);
        print(await control.createWorld(given[0] === undefined ? {} : { name: given[0] }));
      } else if (action === "drop") {
        if (given.length === 0) throw new UsageError("drop: expected a name, got none");
        for (const name of given) await control.dropWorld(name);
      } else throw new UsageError(`expected list, create or drop, got ${JSON.stringify(action)}`);
      return 0;
    }),
};

/** Runs `workspace-tasks worlds` and returns its exit code. */
export const runWorldsCommand = (argv: readonly string[], io: CommandIo): Promise<number> =>
  runCommand(command, argv, io);

const lineOf = ({ name, baseUrl, apiKey, clock, now }: WorldView) =>
  `${name}  ${baseUrl}  ${apiKey}  ${clock} ${now}\n`;
