import { CommandError } from "../../cli/command-error.ts";
import { type Command, type CommandIo, onlyArgument, runCommand, write } from "../../cli/command-line.ts";
import { type FlagValues, flag, text, toggle, wholeNumber } from "../../cli/flags.ts";

const flags = {
  mock: flag("<url>", "address of the mock (WORKSPACE_TASKS_BASE_URL, or http://127.0.0.1:4010)", {
    parse: (value) => (URL.canParse(value) ? value : undefined),
    expected: "a URL such as http://127.0.0.1:4010",
  }),
  workspace: text("<id>", "workspace (the mock's first)"),
  taskType: text("<type>", "type of the task", "TAX_PREP"),
  stage: text("<name>", "stage of a subtask event", "tax-extraction"),
  errorMessage: text("<text>", "failure text of a failed event"),
  payload: flag("<json>", "payload of an event that is not about a task", {
    parse: parseObject,
    expected: "a JSON object",
  }),
  timeoutMs: wholeNumber("time to wait for the deliveries", { min: 1, max: 600_000, fallback: 5_000 }),
  json: toggle("print one JSON document instead of lines"),
};

const command: Command<typeof flags> = {
  name: "trigger",
  synopsis: "<event> [options]",
  about: `Makes a running mock send an event to the webhook endpoints that subscribe to
it, and prints the outcome of each delivery. A task event comes from a real task
of the mock: task.completed is preceded by task.running.`,
  parameters: [
    [
      "<event>",
      "task.running, task.completed, task.failed, subtask.completed, subtask.failed, documents.synced, or another event of the mock's catalog",
    ],
  ],
  flags,
  notes: `Exit code: 0 every delivery succeeded, 1 one did not or the mock did not
respond, 2 wrong arguments.`,
  async run(args, io) {
    const event = onlyArgument(args, "one event name");
    const mockUrl = args.flags.mock ?? io.env["WORKSPACE_TASKS_BASE_URL"] ?? "http://127.0.0.1:4010";
    const options: TriggerOptions = { ...args.flags, event };
    const control = createControlClient(mockUrl);
    const subject = await causeEvent(control, options);
    const deliveries = await attemptedDeliveries(control, options, subject);
    write(
      io,
      options.json ? `${JSON.stringify({ event, subject, deliveries })}\n` : render(event, deliveries),
    );
    return deliveries.every(({ status }) => status === "succeeded") ? 0 : 1;
  },
};

/** Runs `workspace-tasks trigger` and returns its exit code. */
export function runTriggerCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(command, argv, io);
}

type TriggerOptions = FlagValues<typeof flags> & { readonly event: string };

function parseObject(value: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(value);
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

type ControlClient = <Result>(method: string, path: string, body?: unknown) => Promise<Result>;

function createControlClient(mockUrl: string): ControlClient {
  return async <Result>(method: string, path: string, body?: unknown) => {
    let response: Response;
    try {
      response = await fetch(new URL(`/_mock/v1/${path}`, mockUrl), {
        method,
        ...(body === undefined
          ? {}
          : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
      });
    } catch {
      throw new CommandError(
        `no mock responds at ${mockUrl}; start one with "workspace-tasks mock" or pass --mock <url>`,
      );
    }
    const result = (await response.json().catch(() => null)) as Result | ControlFailure | null;
    if (response.ok && result !== null) return result as Result;
    const reason = (result as ControlFailure | null)?.error?.message ?? `HTTP ${response.status}`;
    throw new CommandError(`the mock at ${mockUrl} rejected the request: ${reason}`);
  };
}

interface ControlFailure {
  readonly error?: { readonly message?: string };
}

/** Causes the event; returns the id of its subject, by which its deliveries are found. */
async function causeEvent(control: ControlClient, options: TriggerOptions): Promise<string> {
  const { event, workspace: workspaceId, taskType, errorMessage, stage } = options;
  const [noun, verb = ""] = event.split(".");
  const isAboutTask = (noun === "task" || noun === "subtask") && options.payload === undefined;
  const status = taskStatuses[verb];
  if (!isAboutTask || status === undefined) {
    const payload = options.payload ?? (event === "documents.synced" ? sampleDocumentsSynced : {});
    const { eventId } = await control<{ eventId: string }>("POST", "events", {
      name: event,
      payload,
      workspaceId,
    });
    return eventId;
  }
  const task = { taskType, workspaceId, progression: "manual" };
  const { taskId } = await control<{ taskId: string }>("POST", "tasks", task);
  if (noun === "subtask") {
    await control("POST", `tasks/${taskId}/subtasks`, { subTaskType: stage, status, errorMessage });
  } else if (status !== "RUNNING") {
    await control("POST", `tasks/${taskId}/status`, { status, errorMessage });
  }
  return taskId;
}

const taskStatuses: Readonly<Record<string, string>> = {
  running: "RUNNING",
  completed: "COMPLETED",
  failed: "FAILED",
};

const sampleDocumentsSynced = {
  clientId: "00000000-0000-4000-8000-000000000001",
  connectionId: "00000000-0000-4000-8000-000000000002",
  providerKey: "sample-provider",
  sourceExternalId: "folder-1",
  documents: [
    {
      inputDocumentId: "00000000-0000-4000-8000-000000000003",
      fileName: "w2.pdf",
      mimeType: "application/pdf",
    },
  ],
  duplicateCount: 0,
};

interface Delivery {
  readonly id: string;
  readonly endpointId: string;
  readonly status: string;
  readonly attemptCount: number;
  readonly nextAttemptAt: string | null;
}

/** The deliveries of the event, once each has had its first attempt or the time limit is reached. */
async function attemptedDeliveries(
  control: ControlClient,
  { event, timeoutMs }: TriggerOptions,
  subject: string,
): Promise<readonly Delivery[]> {
  const query = new URLSearchParams({ event, subject, limit: "1000" });
  const list = async () => (await control<{ data: Delivery[] }>("GET", `deliveries?${query}`)).data;
  const created = await list();
  if (created.length === 0) return created;
  const deliveries = { event, subject, attempted: true, count: created.length };
  try {
    await control("POST", "wait", { deliveries, timeoutMs });
  } catch (error) {
    // The time limit is no failure: the deliveries show their state.
    if (!(error instanceof CommandError)) throw error;
  }
  return list();
}

function render(event: string, deliveries: readonly Delivery[]): string {
  if (deliveries.length === 0) return `${event}: no enabled endpoint of the workspace subscribes to it\n`;
  return deliveries
    .map(({ endpointId, status, attemptCount, nextAttemptAt }) => {
      const next = nextAttemptAt === null ? "" : `, next at ${nextAttemptAt}`;
      return `${event} → endpoint ${endpointId}: ${status} after ${attemptCount} attempt(s)${next}\n`;
    })
    .join("");
}
