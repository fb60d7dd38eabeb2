import { describe, expect, it } from "vitest";
import { isWorkspaceTasksError } from "../../../../sdk/errors.ts";
import { createConnections, createJobs, createWorks } from "../../../../sdk/operations/jobs.ts";
import { createTasks, type Task, workIdOf } from "../../../../sdk/operations/tasks.ts";
import { createTaxClients } from "../../../../sdk/operations/tax-clients.ts";
import { createWebhookEndpoints } from "../../../../sdk/operations/webhooks.ts";
import { createPartnerWorkspaces } from "../../../../sdk/operations/workspaces.ts";
import { createUploads } from "../../../../sdk/uploads/uploads.ts";
import { clientOptionsOf, createFakeEngine } from "../../../support/engine-fixture.ts";
import { outcomeOf } from "../../../support/outcome-of.ts";

function surface() {
  const engine = createFakeEngine();
  const { send } = engine;
  return {
    engine,
    endpoints: createWebhookEndpoints(send),
    workspaces: createPartnerWorkspaces(send),
    connections: createConnections(send),
    jobs: createJobs(send),
    works: createWorks(send),
    taxClients: createTaxClients(send),
    tasks: createTasks(engine, clientOptionsOf(engine)),
    uploads: createUploads(engine, clientOptionsOf(engine)),
  };
}

type Surface = ReturnType<typeof surface>;
type BadCall = (sdk: Surface) => unknown;

/** What an invalid call rejects with; checks that it throws nothing at once, and that it cost no request. */
async function errorOf(badCall: BadCall): Promise<Error> {
  const sdk = surface();
  const call = badCall(sdk);
  const outcome = await outcomeOf(Promise.resolve(call));
  expect(sdk.engine.sent).toEqual([]);
  if (!isWorkspaceTasksError(outcome))
    throw new Error(`expected an error of the SDK, got ${String(outcome)}`);
  expect(outcome.outcome).toBe("not_sent");
  expect(outcome.attempts).toBe(0);
  return outcome;
}

const endpointId = "endpoint-1";

describe("invalid input", () => {
  const cases: readonly [string, BadCall][] = [
    [
      "webhooks.endpoints.update: unknown option enable; did you mean enabled?",
      ({ endpoints }) => endpoints.update(endpointId, { enable: false } as never),
    ],
    [
      "partner.workspaces.create: displayName: expected a string that is not blank, got a blank one",
      ({ workspaces }) => workspaces.create({ displayName: "  " }),
    ],
    [
      "partner.workspaces.addUsers: userEmails.1: expected an e-mail address, got a string without @",
      ({ workspaces }) => workspaces.addUsers("w", { userEmails: ["a@b.example", "not-an-email"] }),
    ],
    [
      "uploads.upload: expected bytes, a Blob, a ReadableStream or an async iterable of bytes, got a string; for a file pass createReadStream(path)",
      ({ uploads }) => uploads.upload("./w2.pdf" as never, { fileName: "a", mimeType: "text/plain" }),
    ],
    [
      "uploads.upload: resumeUrl: expected an upload at https://service.test, got another place",
      ({ uploads }) =>
        uploads.upload(new Uint8Array(1), {
          fileName: "a",
          mimeType: "text/plain",
          resumeUrl: "https://elsewhere.test/api/uploads/1",
        }),
    ],
  ];

  it.each(cases)("%s", async (message, badCall) => {
    expect(await errorOf(badCall)).toMatchObject({ code: "ARGUMENT_INVALID", message });
  });

  it("the option idempotencyKey of a call is rejected with a hint to externalId", async () => {
    const input = { name: "n", externalId: "e", returnType: "F1040", taxYear: 2025 };
    const options = { idempotencyKey: "k" } as never;
    const error = await errorOf(({ taxClients }) => taxClients.create(input, options));
    expect(error.message).toContain(
      "unknown option idempotencyKey; the service knows none; it rejects an input whose externalId was used before",
    );
  });
});

it("a value that is no task has no work", () => {
  const message = (task: unknown) => () => workIdOf(task as Task);
  expect(message(null)).toThrow("workIdOf: expected an object, got null");
  expect(message({})).toThrow("workIdOf: attributes: expected an array, got nothing");
  expect(message({ attributes: [null] })).toThrow("workIdOf: attributes.0: expected an object, got null");
});

describe("valid input", () => {
  it("an explicit null is sent, an omitted field is not", async () => {
    const { engine, endpoints } = surface();
    await outcomeOf(endpoints.update(endpointId, { description: null, eventTypes: null }));
    expect(engine.sent[0]?.variables).toEqual({ input: { endpointId, description: null, eventTypes: null } });
  });

  it("an unknown field of a work is passed on", async () => {
    const { engine, jobs } = surface();
    const work = { name: "n", externalId: "e", taxYear: 2025 };
    await outcomeOf(jobs.addWorks("job", [work]));
    expect(engine.sent[0]?.variables).toEqual({ connectionJobId: "job", inputs: [work] });
  });

  it("a list can be filtered by an unknown status", async () => {
    const { engine, tasks } = surface();
    await outcomeOf(tasks.list({ statuses: ["CANCELLED"] }).toArray());
    expect(engine.sent[0]?.variables).toMatchObject({ filters: { statuses: ["CANCELLED"] } });
  });
});
