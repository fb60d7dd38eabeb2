import {
  CommandError,
  type CommandIo,
  defineCommand,
  type FlagValues,
  noArgument,
  toggle,
  wholeNumber,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { ControlApi } from "../control/control-api.ts";
import {
  createBoundedOutput,
  createLogOutput,
  type LoggedActivity,
  type LogOutput,
  lineOf,
} from "./activity-log.ts";
import { mockUrlFlags, mockUrlOf, withRunningMock } from "./running-mock.ts";

const flags = {
  ...mockUrlFlags,
  last: wholeNumber("requests and delivery attempts of the past to start with", {
    min: 0,
    max: 1_000,
    fallback: 20,
  }),
  once: toggle("end after them instead of following"),
  json: toggle("print one JSON document per line"),
};

/** Runs `workspace-tasks logs` until it is asked to stop, and returns its exit code. */
export const runLogsCommand = defineCommand({
  name: "logs",
  synopsis: "[options]",
  about: `Prints the requests and delivery attempts of a running mock, and follows them
until Ctrl+C: time, HTTP status, operation or event, and why it failed.`,
  flags,
  notes: "Exit code: 0 stopped, 1 no mock responds or it has stopped, 2 wrong arguments.",
  run(args, io) {
    noArgument(args);
    // Without a reader, as after `| head -1`, there is nothing left to do.
    const stop = AbortSignal.any([io.stop, io.unread ?? []].flat());
    const followed = withRunningMock(args.flags, io, async (control) => {
      await printActivities(control, args.flags, { ...io, stop });
      return 0;
    });
    return followed.catch((error: unknown) => {
      if (stop.aborted) return 0;
      throw error;
    });
  },
});

async function printActivities(
  control: ControlApi,
  { last, once, json, ...address }: FlagValues<typeof flags>,
  io: CommandIo,
): Promise<void> {
  const { mode } = await control.getClock();
  const output = json ? jsonOutput(io) : createLogOutput(io);
  const print = (activity: LoggedActivity) => output.print(activity, { date: mode === "virtual" });
  const stream = once ? null : await openStream(mockUrlOf(address, io), io.stop);
  for (const activity of await pastActivities(control, last)) print(activity);
  if (stream) await follow(stream, print, io.stop);
}

/** The activities that have a line, as JSON. */
function jsonOutput({ stdout }: CommandIo): Pick<LogOutput, "print"> {
  const write = createBoundedOutput(stdout);
  return {
    print(activity) {
      if (lineOf(activity, { color: false, date: true }) !== null) write(JSON.stringify(activity));
    },
  };
}

/** Newest activities of the journal and of the deliveries, oldest first. */
async function pastActivities(control: ControlApi, limit: number): Promise<readonly LoggedActivity[]> {
  if (limit === 0) return [];
  const requests = await control.listRequests({ order: "desc", limit });
  const deliveries = await control.listDeliveries({ order: "desc", limit });
  const attempts = await Promise.all(
    deliveries.data.map(async ({ id, endpointId, event, status, nextAttemptAt, url, triesMax }) => {
      const { attempts: all } = await control.getDelivery(id);
      return all.map(({ number, kind, status: code, error, durationMs, faults, startedAt }) => ({
        type: "delivery.attempted",
        at: startedAt,
        deliveryId: id,
        endpointId,
        event,
        status: number === all.length ? status : "pending",
        nextAttemptAt: number === all.length ? nextAttemptAt : null,
        url,
        tries: all.slice(0, number).filter((each) => each.kind === "scheduled").length,
        triesMax,
        attempt: { number, kind, status: code, error, durationMs, faults },
      }));
    }),
  );
  const past = [
    ...requests.data.toReversed().map((request) => ({ type: "request.completed", at: request.at, request })),
    ...attempts.toReversed().flat(),
  ];
  return past.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)).slice(-limit);
}

async function openStream(url: string, signal: AbortSignal): Promise<ReadableStream<string>> {
  const response = await fetch(`${url}/_mock/v1/stream`, { signal });
  if (!response.ok || !response.body) throw new CommandError(`the mock at ${url} has no event stream`);
  return response.body.pipeThrough(new TextDecoderStream());
}

/** Of an event of a mock, which is much shorter. */
const lineCharsMax = 4 * 1_048_576;

/** Prints each event of the stream. @throws CommandError when the mock stops, and for what is no event of a mock */
async function follow(
  stream: ReadableStream<string>,
  print: (activity: LoggedActivity) => void,
  stop: AbortSignal,
): Promise<void> {
  let text = "";
  try {
    for await (const chunk of stream) {
      const lines = `${text}${chunk}`.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines.filter((each) => each.startsWith("data: "))) print(activityOf(line));
      if (text.length > lineCharsMax) throw new CommandError(noEvent);
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    // A mock that is killed ends its stream with an error.
  }
  if (!stop.aborted) throw new CommandError("the mock has stopped");
}

const noEvent = "expected events of a mock, got other text";

function activityOf(line: string): LoggedActivity {
  const activity = jsonOrUndefined(line.slice("data: ".length));
  if (!isPlainObject(activity)) throw new CommandError(noEvent);
  return activity as unknown as LoggedActivity;
}
