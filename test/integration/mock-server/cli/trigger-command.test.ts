import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { runTriggerCommand } from "../../../../mock-server/cli/trigger-command.ts";
import { workspaceToken } from "../../../support/mock-client.ts";
import { runCommand } from "../../../support/run-command.ts";

const trigger = (...argv: string[]) => runCommand(runTriggerCommand, argv);

/** A mock with one endpoint, whose receiver responds with `status`. */
async function withReceiver(status: number, use: (mockUrl: string) => Promise<void>): Promise<void> {
  const url = "http://127.0.0.1:1/hooks";
  const receivers = new Map([[url, () => new Response(null, { status })]]);
  await using mock = await createMockServer({ receivers });
  await mock.control.createEndpoint({ url });
  await use(mock.baseUrl);
}

describe("trigger", () => {
  it.each(["task.running", "task.failed", "subtask.completed", "subtask.failed", "documents.synced"])(
    "trigger %s causes the event and waits for its deliveries",
    (event) =>
      withReceiver(204, async (mockUrl) => {
        const env = { WORKSPACE_TASKS_BASE_URL: mockUrl };
        const { code, out } = await runCommand(runTriggerCommand, [event, "--json"], { env });
        expect(code).toBe(0);
        expect(JSON.parse(out)).toMatchObject({ event, deliveries: [{ event, status: "succeeded" }] });
      }),
  );

  it("trigger prints a failed delivery with the time of its next attempt, and returns 1", () =>
    withReceiver(500, async (mockUrl) => {
      const { code, out } = await trigger("task.running", "--mock", mockUrl);
      expect(code).toBe(1);
      expect(out).toMatch(/^task\.running → {2}127\.0\.0\.1:1\/hooks {2}500 {2}try 1 of 8, next in \d+ s\n$/);
    }));

  it("trigger rejects a task type without events, unless the settings of the mock have it", async () => {
    const tasks = { typesWithEvents: ["TAX_PREP", "ENTITY_REVIEW"] };
    await using mock = await createMockServer({ settings: { tasks } });
    const withType = (type: string) => trigger("task.running", "--task-type", type, "--mock", mock.baseUrl);
    expect(await withType("BINDER")).toMatchObject({
      code: 2,
      err: expect.stringContaining('--task-type: expected one of TAX_PREP, ENTITY_REVIEW, got "BINDER"'),
    });
    expect((await withType("ENTITY_REVIEW")).code).toBe(1);
  });

  it("trigger returns 1 when nothing was sent, and says what to do", async () => {
    await using mock = await createMockServer();
    const { code, out, err } = await trigger("task.running", "--mock", mock.baseUrl);
    expect(out).toBe("task.running: no enabled endpoint of the workspace subscribes to it\n");
    expect([code, err]).toEqual([1, expect.stringContaining("start the mock with --deliver-to <url>")]);
  });

  it("trigger says that a receiver may reject virtual time", async () => {
    const url = "http://127.0.0.1:1/hooks";
    const receivers = new Map([[url, () => new Response(null, { status: 401 })]]);
    await using mock = await createMockServer({ receivers, clock: "virtual" });
    await mock.control.createEndpoint({ url });
    const { code, err } = await trigger("task.running", "--mock", mock.baseUrl);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("the mock signs with its virtual time 2026-01-15T12:00:00.000Z"),
    ]);
  });

  it("trigger prints why the mock rejects the event", async () => {
    await using mock = await createMockServer();
    await workspaceToken(mock);
    const { code, err } = await trigger("client.archived", "--mock", mock.baseUrl);
    expect(code).toBe(1);
    expect(err).toContain('event "client.archived" is not in the catalog');
  });

  it("trigger rejects an address of the environment that is none", async () => {
    const env = { WORKSPACE_TASKS_BASE_URL: "localhost:4010" };
    const { code, err } = await runCommand(runTriggerCommand, ["task.running"], { env });
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(
        "WORKSPACE_TASKS_BASE_URL: expected a URL such as http://127.0.0.1:4010, or a port, got",
      ),
    ]);
  });

  it("trigger explains how to start a mock when none responds", async () => {
    const closed = await createMockServer();
    await closed.close();
    const { code, err } = await trigger("task.running", "--mock", closed.baseUrl);
    expect(code).toBe(1);
    expect(err).toContain('start one with "workspace-tasks mock" or pass --mock <url>');
  });

  it.each([
    [[], "expected one event name, got none"],
    [["a", "b"], 'expected one event name, got "a b"'],
    [
      ["a", "--mock", "http://user:secret@127.0.0.1"],
      '--mock: expected a URL such as http://127.0.0.1:4010, or a port, got "http://…@127.0.0.1"',
    ],
    [
      ["task.failed", "--stage", "x"],
      "--stage: expected with subtask.completed or subtask.failed, and without --payload",
    ],
    [["a", "--payload", "{"], '--payload: expected a JSON object, got "{"'],
  ])("trigger rejects %j", async (argv, sentence) => {
    const { code, err } = await trigger(...argv);
    expect([code, err]).toEqual([
      2,
      `workspace-tasks trigger: ${sentence}\nTry workspace-tasks trigger --help\n`,
    ]);
  });
});
