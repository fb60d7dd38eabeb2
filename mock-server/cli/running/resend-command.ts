import {
  CommandError,
  type CommandIo,
  defineCommand,
  toggle,
  UsageError,
  write,
  writeData,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { painter, usesColor } from "@workspace-tasks/kernel/layout.ts";
import type { ControlApi } from "../../control/control-api.ts";
import type { DeliveryDetail } from "../../control/deliveries/delivery-routes.ts";
import { withoutSecrets, withoutStatus } from "../activity-log.ts";
import { mockUrlFlags, withRunningMock } from "./running-mock.ts";

const flags = {
  ...mockUrlFlags,
  unsuccessful: toggle("every delivery whose last attempt failed, oldest first"),
  json: toggle("print one JSON document per delivery"),
};

/** Runs `workspace-tasks resend` and returns its exit code. */
export const runResendCommand = defineCommand({
  name: "resend",
  synopsis: "<delivery-id>… | --unsuccessful [options]",
  about: `Sends deliveries of a running mock again, with their id and a new signature, and
prints how the receiver responded. The retry schedule does not change.`,
  parameters: [["<delivery-id>", "the webhook-id of the delivery, or latest"]],
  flags,
  notes: `Exit code: 0 the receiver acknowledged all, 1 it did not, there was none, or the
mock did not respond, 2 wrong arguments.`,
  run: ({ positionals, rest, flags: { unsuccessful, json, ...address } }, io) => {
    const given = [...positionals, ...rest];
    if (unsuccessful === given.length > 0) {
      throw new UsageError(
        "expected delivery ids, or --unsuccessful alone; workspace-tasks logs --json has the ids",
      );
    }
    return withRunningMock(address, io, async (control) => {
      const ids = unsuccessful ? await unsuccessfulIds(control) : given;
      if (ids.length === 0) throw new CommandError("no delivery has failed");
      let code = 0;
      for (const id of ids) {
        const delivery = await control.replayDelivery(id === "latest" ? await latestId(control) : id);
        if (json) writeData(io, `${JSON.stringify(delivery)}\n`);
        else write(io, lineOf(delivery, io));
        if (delivery.attempts.at(-1)?.error !== null) code = 1;
      }
      return code;
    });
  },
});

async function latestId(control: ControlApi): Promise<string> {
  const [latest] = (await control.listDeliveries({ order: "desc", limit: 1 })).data;
  if (latest) return latest.id;
  throw new CommandError("there is no delivery yet; workspace-tasks trigger task.completed sends one");
}

async function unsuccessfulIds(control: ControlApi): Promise<readonly string[]> {
  const ids: string[] = [];
  let iterator: string | null = null;
  do {
    const from = iterator === null ? {} : { iterator };
    const page = await control.listDeliveries({ rejected: true, limit: 1_000, ...from });
    ids.push(...page.data.map(({ id }) => id));
    ({ iterator } = page);
  } while (iterator !== null);
  return ids;
}

function lineOf({ id, event, url, endpointId, attempts }: DeliveryDetail, io: CommandIo): string {
  const { status = null, error = null } = attempts.at(-1) ?? {};
  const shown = painter(usesColor(io))(String(status ?? "---"), error === null ? "good" : "bad");
  const reason = error === null ? "acknowledged" : withoutStatus(error) || "not acknowledged";
  return `${event} → ${withoutSecrets(url ?? endpointId)} ${shown} ${reason} (${id})\n`;
}
