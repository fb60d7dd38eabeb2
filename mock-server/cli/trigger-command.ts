import {
  CommandError,
  type CommandIo,
  readFlags,
  readWholeNumber,
  runCommand,
  UsageError,
} from "../../cli/command-line.ts";

const usage = `Usage: workspace-tasks trigger <event> [options]

Makes a running mock send an event to the webhook endpoints that subscribe to
it, and says what became of each delivery. A task event comes from a real task
of the mock: task.completed is preceded by task.running.

  <event>                   task.running, task.completed, task.failed,
                            subtask.completed, subtask.failed, documents.synced,
                            or any other event of the mock's catalog
  --mock <url>              address of the mock (WORKSPACE_TASKS_BASE_URL, or
                            http://127.0.0.1:4010)
  --workspace <id>          workspace (the mock's first)
  --task-type <type>        type of the task (TAX_PREP)
  --stage <name>            stage of a subtask event (tax-extraction)
  --error-message <text>    failure text of a failed event
  --payload <json>          payload of an event that is not about a task
  --timeout-ms <n>          time to wait for the deliveries (5000)
  --json                    one JSON document instead of lines
  --help                    this text

Exit code: 0 every delivery succeeded, 1 one did not or the mock did not
answer, 2 wrong arguments.
`;

/** Runs `workspace-tasks trigger` and returns its exit code. */
export function runTriggerCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand({ command: "trigger", usage }, argv, io, () => trigger(argv, io));
}

async function trigger(argv: readonly string[], io: CommandIo): Promise<number> {
  const order = readOrder(argv, io);
  const control = createControlClient(order.mockUrl);
  const subject = await cause(control, order);
  const deliveries = await settled(control, order, subject);
  const succeeded = deliveries.every(({ status }) => status === "succeeded");
  io.stdout.write(
    order.json
      ? `${JSON.stringify({ event: order.event, subject, deliveries })}\n`
      : describe(order, deliveries),
  );
  return succeeded ? 0 : 1;
}

type Order = {
  readonly event: string;
  readonly mockUrl: string;
  readonly workspaceId: string | undefined;
  readonly taskType: string;
  readonly stage: string;
  readonly errorMessage: string | undefined;
  readonly payload: Record<string, unknown> | undefined;
  readonly timeoutMs: number;
  readonly json: boolean;
};

function readOrder(argv: readonly string[], io: CommandIo): Order {
  const text = { type: "string" } as const;
  const { values, positionals } = readFlags(argv, {
    mock: text,
    workspace: text,
    "task-type": text,
    stage: text,
    "error-message": text,
    payload: text,
    "timeout-ms": text,
    json: { type: "boolean" },
  });
  const [event] = positionals;
  if (event === undefined || positionals.length > 1) {
    throw new UsageError(`expected one event name, got ${positionals.length}`);
  }
  const mockUrl = values.mock ?? io.env["WORKSPACE_TASKS_BASE_URL"] ?? "http://127.0.0.1:4010";
  if (!URL.canParse(mockUrl))
    throw new UsageError(`expected a URL for --mock, got ${JSON.stringify(mockUrl)}`);
  return {
    event,
    mockUrl,
    workspaceId: values.workspace,
    taskType: values["task-type"] ?? "TAX_PREP",
    stage: values.stage ?? "tax-extraction",
    errorMessage: values["error-message"],
    payload: readPayload(values.payload),
    timeoutMs: readWholeNumber("timeout-ms", values["timeout-ms"], { min: 1, max: 600_000 }) ?? 5_000,
    json: values.json ?? false,
  };
}

function readPayload(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError("expected JSON for --payload");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UsageError("expected a JSON object for --payload");
  }
  return value as Record<string, unknown>;
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
        `no mock answers at ${mockUrl}; start one with "workspace-tasks mock" or say --mock <url>`,
      );
    }
    const answer = (await response.json().catch(() => null)) as Result | Refusal | null;
    if (response.ok && answer !== null) return answer as Result;
    const reason = (answer as Refusal | null)?.error?.message ?? `HTTP ${response.status}`;
    throw new CommandError(`the mock at ${mockUrl} refused: ${reason}`);
  };
}

type Refusal = { readonly error?: { readonly message?: string } };

/** Lets the event happen; gives what it is about, by which its deliveries are found. */
async function cause(control: ControlClient, order: Order): Promise<string> {
  const { event, workspaceId, taskType, errorMessage, stage } = order;
  const [noun, verb = ""] = event.split(".");
  const isAboutTask = (noun === "task" || noun === "subtask") && order.payload === undefined;
  const status = taskStatuses[verb];
  if (!isAboutTask || status === undefined) {
    const payload = order.payload ?? (event === "documents.synced" ? sampleDocumentsSynced : {});
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

type Delivery = {
  readonly id: string;
  readonly endpointId: string;
  readonly status: string;
  readonly attemptCount: number;
  readonly nextAttemptAt: string | null;
};

/** The deliveries of the event, once each has had its first attempt or the time is up. */
async function settled(control: ControlClient, order: Order, subject: string): Promise<readonly Delivery[]> {
  const query = new URLSearchParams({ event: order.event, subject, limit: "1000" });
  const list = async () => (await control<{ data: Delivery[] }>("GET", `deliveries?${query}`)).data;
  const created = await list();
  if (created.length === 0) return created;
  const filter = { event: order.event, subject, attempted: true, count: created.length };
  try {
    await control("POST", "wait", { deliveries: filter, timeoutMs: order.timeoutMs });
  } catch (error) {
    // Waiting in vain is no mistake: the deliveries say themselves where they stand.
    if (!(error instanceof CommandError)) throw error;
  }
  return list();
}

function describe({ event }: Order, deliveries: readonly Delivery[]): string {
  if (deliveries.length === 0) return `${event}: no enabled endpoint of the workspace subscribes to it\n`;
  return deliveries
    .map(({ endpointId, status, attemptCount, nextAttemptAt }) => {
      const next = nextAttemptAt === null ? "" : `, next at ${nextAttemptAt}`;
      return `${event} → endpoint ${endpointId}: ${status} after ${attemptCount} attempt(s)${next}\n`;
    })
    .join("");
}
