import { createServer } from "node:http";
import { beforeEach, describe, expect, it } from "vitest";
import { startCapturingReceiver } from "../../support/capturing-receiver.ts";
import { freePort, listen } from "../../support/listen.ts";
import { type CallOptions, useService } from "./harness.ts";
import { done, endpointMutations, mutation, type Variables } from "./operations.ts";

const service = useService({ settings: { rateLimit: { requests: 100_000 } } });

let partner: CallOptions;
beforeEach(async () => {
  partner = { token: await service.partnerToken(), router: "gateway" };
});

/** A mutation of the gateway, as the partner unless the options say otherwise. */
const ofPartner = (name: string, parameters: string, fields: string) =>
  mutation(service, name, parameters, `{ ${fields} }`, () => partner);
const connectionFields = "id workspaceId providerKey status displayName settings action createdAt updatedAt";
const createWorkspace = ofPartner(
  "createWorkspace",
  "$input: CreateWorkspaceInput!",
  "id slug displayName status workspaceType",
);
const start = ofPartner(
  "startProviderConnection",
  "$workspaceId: ID!, $providerKey: String!, $inputs: JSON",
  connectionFields,
);
const collect = ofPartner("collectProviderConnection", "$connectionId: ID!, $inputs: JSON", connectionFields);
const createJob = ofPartner(
  "createConnectionJob",
  "$connectionId: ID!, $jobName: String!",
  "id connectionId workspaceId name status createdAt updatedAt",
);
const createWorks = ofPartner(
  "createJobWorks",
  "$connectionJobId: ID!, $inputs: [CreateJobWorksInput!]!",
  "id workId workspaceId connectionJobId createdAt updatedAt",
);
const createArtifacts = ofPartner(
  "createJobWorkArtifacts",
  "$jobWorkId: ID!, $inputs: [CreateJobWorkArtifactsInput!]!",
  `id artifactId workspaceId connectionJobId jobWorkId createdAt updatedAt
   workArtifact { id externalId name type status uploadedUrl metadata }`,
);
const initiate = ofPartner("initiateTaxPrepsImport", "$connectionJobId: ID!", "id status updatedAt");
const addUsers = ofPartner(
  "addUsersToTheWorkspace",
  "$workspaceId: ID!, $userEmails: [String!]!",
  "id email name role",
);
const newWorkspace = async (displayName = "Firm"): Promise<string> =>
  (await done(createWorkspace({ input: { displayName } }))).id;

async function pendingConnection(inputs: Variables | null = null, workspaceId?: string): Promise<string> {
  const variables = { workspaceId: workspaceId ?? (await newWorkspace()), providerKey: "acme-books", inputs };
  return (await done(start(variables))).id;
}

async function activeConnection(workspaceId?: string): Promise<string> {
  const connectionId = await pendingConnection(null, workspaceId);
  expect((await done(collect({ connectionId }))).status).toBe("active");
  return connectionId;
}

const pendingJob = async (connectionId?: string): Promise<string> =>
  (await done(createJob({ connectionId: connectionId ?? (await activeConnection()), jobName: "2025" }))).id;

const workOf = (externalId: string, name = "x") => ({ name, externalId });

async function newWork(): Promise<{ connectionJobId: string; jobWorkId: string }> {
  const connectionJobId = await pendingJob();
  const [work] = await done(createWorks({ connectionJobId, inputs: [workOf("a")] }));
  return { connectionJobId, jobWorkId: work.id };
}

const unknownId = "00000000-0000-7000-8000-000000000000";

describe("P1 createWorkspace", () => {
  const isSlug = /^[a-z0-9]+(-[a-z0-9]+)*$/;

  it("P1 createWorkspace returns an active partner workspace", async () => {
    const displayName = " Müller & Söhne Tax";
    const metadata = { customer: "c-1", partner: { reference: 7 } };
    expect(await done(createWorkspace({ input: { displayName, firmSize: "md", metadata } }))).toEqual({
      id: expect.any(String),
      slug: expect.stringMatching(isSlug),
      displayName,
      status: "active",
      workspaceType: "partner",
    });
  });

  it.each(["xs", "sm", "md", "lg", "xl"])("P1 the firm size %s is accepted", async (firmSize) => {
    await done(createWorkspace({ input: { displayName: "Firm", firmSize } }));
  });

  it.each([
    ["an empty displayName", { displayName: "" }],
    ["a blank displayName", { displayName: " \t\n" }],
    ["a displayName without a visible character", { displayName: "\u200b\ufeff\u00a0" }],
    ["a missing displayName", {}],
    ["a displayName of null", { displayName: null }],
    ["an unknown firm size", { displayName: "Firm", firmSize: "xxl" }],
    ["an empty firm size", { displayName: "Firm", firmSize: "" }],
    ["metadata that is a list", { displayName: "Firm", metadata: [1] }],
    ["metadata that is text", { displayName: "Firm", metadata: "x" }],
    ["metadata that is a number", { displayName: "Firm", metadata: 1 }],
  ])("P1 createWorkspace with %s is rejected", async (_name, input) => {
    const { value, errors, message } = await createWorkspace({ input });
    expect([value ?? null, errors?.length]).toEqual([null, 1]);
    expect(message).not.toBe("Internal server error");
  });

  it("P1 slugs are unique, also for equal names and names without letters", async () => {
    const names = ["Same Name", "Same Name", "same-name", "名前", "名前"];
    const slugs = new Set<string>();
    for (const displayName of names)
      slugs.add((await done(createWorkspace({ input: { displayName } }))).slug);
    expect(slugs.size).toBe(names.length);
    for (const slug of slugs) expect(slug).toMatch(isSlug);
  });
});

describe("P2 permission", () => {
  const codeWith = async (token: string | null) =>
    (await createWorkspace({ input: { displayName: "Firm" } }, { router: "gateway", token })).code;

  it("P2 createWorkspace without a token of a partner fails", async () => {
    const { workspaceToken, userToken } = await service.tokens();
    for (const token of [null, "a.b.c"]) expect(await codeWith(token)).toBe("UNAUTHENTICATED");
    for (const token of [workspaceToken, userToken]) expect(await codeWith(token)).toBe("FORBIDDEN");
  });

  it("P2 createWorkspace with an expired partner token fails", async () => {
    const token = await service.partnerToken();
    await service.advance("180s");
    expect(await codeWith(token)).toBe("UNAUTHENTICATED");
  });
});

describe("P3 collectProviderConnection", () => {
  const statusOf = async (connectionId: string): Promise<string> =>
    (await done(collect({ connectionId }))).status;

  it("P3 a collected connection is active and returns its inputs as settings", async () => {
    const workspaceId = await newWorkspace();
    const id = await pendingConnection({ apiKey: "good" }, workspaceId);
    const inputs = { firmReference: "f-1", nested: { list: [1, "two", null, true] } };
    const expected = { id, workspaceId, providerKey: "acme-books", status: "active", settings: inputs };
    expect(await done(collect({ connectionId: id, inputs }))).toMatchObject(expected);
  });

  it("P3 collecting without inputs keeps the existing settings", async () => {
    const connectionId = await pendingConnection();
    expect((await done(collect({ connectionId }))).settings).toBeNull();
    await done(collect({ connectionId, inputs: { a: 1 } }));
    expect((await done(collect({ connectionId }))).settings).toEqual({ a: 1 });
  });

  it("P3 a failed call of the platform returns an error state and no GraphQL error", async () => {
    const connectionId = await pendingConnection({ apiKey: "invalid-key" });
    const failed = await done(collect({ connectionId, inputs: { firm: "a" } }));
    expect(failed, "only inputs that were verified are stored").toMatchObject({
      status: "failed",
      settings: null,
    });
  });

  it.each([[[1]], ["text"], [7]])("P3 the inputs %j are rejected", async (inputs) => {
    const { code } = await collect({ connectionId: await pendingConnection(), inputs });
    expect(code).toBe("BAD_USER_INPUT");
  });

  it("P3 credentials of the start step are never returned", async () => {
    const connectionId = await pendingConnection({ apiKey: "hush-1", securityToken: "hush-2" });
    const response = await collect({ connectionId, inputs: { a: 1 } });
    expect(response.text).not.toContain("hush");
    const journal = await service.control.listRequests({ limit: 1_000 });
    expect(JSON.stringify(journal)).not.toContain("hush");
  });

  it.each([
    [200, "active"],
    [204, "active"],
    [401, "failed"],
    [500, "failed"],
    [302, "failed"],
  ])("P3 a platform on loopback that returns %i makes the connection %s", async (status, expected) => {
    const asked: (string | undefined)[] = [];
    const platform = createServer((request, response) => {
      asked.push(`${request.method} ${request.headers.authorization}`);
      response.writeHead(status, { location: "https://elsewhere.example" }).end();
    });
    await using listening = await listen(platform);
    const baseUrl = `${listening.origin}/`;
    expect(await statusOf(await pendingConnection({ baseUrl, apiKey: "k-1" }))).toBe(expected);
    expect(asked).toEqual(["GET Bearer k-1"]);
  });

  it("P3 a connection to an unreachable platform fails and can be collected again", async () => {
    const platform = createServer((_request, response) => response.end());
    const port = await freePort();
    const connectionId = await pendingConnection({ baseUrl: `http://127.0.0.1:${port}/` });
    expect(await statusOf(connectionId)).toBe("failed");
    await using _listening = await listen(platform, port);
    expect(await statusOf(connectionId)).toBe("active");
  });
});

describe("P4 createConnectionJob", () => {
  it("P4 a job on an active connection is pending", async () => {
    const connectionId = await activeConnection();
    const jobName = " Season 2025 ";
    const job = await done(createJob({ connectionId, jobName }));
    const expected = {
      connectionId,
      name: jobName,
      status: "pending",
      workspaceId: expect.any(String),
    };
    expect(job).toMatchObject(expected);
  });

  it.each([
    ["pending", null],
    ["failed", { apiKey: "invalid" }],
  ])("P4 a job on a %s connection is rejected", async (status, inputs) => {
    const connectionId = await pendingConnection(inputs);
    if (status === "failed") await collect({ connectionId });
    const { message, code } = await createJob({ connectionId, jobName: "x" });
    expect([message, code]).toEqual(["Provider connection is not active", "CONFLICT"]);
  });

  it("P4 a job with a blank name is rejected", async () => {
    const blank = await createJob({ connectionId: await activeConnection(), jobName: "  " });
    expect(blank.code).toBe("BAD_USER_INPUT");
  });
});

describe("P5 P6 createJobWorks", () => {
  const used = ['externalId "a" is already used in this connection', "CONFLICT"];

  it("P5 createJobWorks returns the works of its job", async () => {
    const connectionJobId = await pendingJob();
    const works = await done(
      createWorks({ connectionJobId, inputs: ["a", "b", "c"].map((id) => workOf(id)) }),
    );
    expect(works).toHaveLength(3);
    for (const work of works) expect(work.connectionJobId).toBe(connectionJobId);
  });

  it("P6 all ids and work ids are distinct", async () => {
    const inputs = Array.from({ length: 20 }, (_, index) => workOf(`x-${index}`));
    const works = await done(createWorks({ connectionJobId: await pendingJob(), inputs }));
    const ids = works.flatMap(({ id, workId }: { id: string; workId: string }) => [id, workId]);
    expect(new Set(ids).size).toBe(40);
  });

  it("P5 createJobWorks with an externalId twice creates nothing", async () => {
    const connectionJobId = await pendingJob();
    const inputs = ["b", "a", "a"].map((id) => workOf(id));
    const { message, code } = await createWorks({ connectionJobId, inputs });
    expect([message, code]).toEqual(used);
    await done(createWorks({ connectionJobId, inputs: inputs.slice(0, 2) }));
  });

  it("P5 an externalId is unique within its connection only", async () => {
    const connectionId = await activeConnection();
    const inputs = [workOf("a")];
    await done(createWorks({ connectionJobId: await pendingJob(connectionId), inputs }));
    const again = await createWorks({
      connectionJobId: await pendingJob(connectionId),
      inputs: [workOf("new", "y"), ...inputs],
    });
    expect([again.message, again.code]).toEqual(used);
    await done(createWorks({ connectionJobId: await pendingJob(), inputs }));
  });

  it.each([
    ["no inputs", []],
    ["a blank name", [workOf("a", " ")]],
    ["a blank externalId", [workOf("")]],
  ])("P5 createJobWorks with %s is rejected", async (_name, inputs) => {
    const response = await createWorks({ connectionJobId: await pendingJob(), inputs });
    expect(response.code).toBe("BAD_USER_INPUT");
  });

  it("P5 more works than the maximum are rejected", async () => {
    const inputs = Array.from({ length: 1_001 }, (_, index) => workOf(`x-${index}`));
    expect((await createWorks({ connectionJobId: await pendingJob(), inputs })).code).toBe("BAD_USER_INPUT");
  });

  it("P5 works for a job with a started import are rejected", async () => {
    const { connectionJobId } = await newWork();
    await done(initiate({ connectionJobId }));
    const { message, code } = await createWorks({ connectionJobId, inputs: [workOf("b")] });
    expect([message, code]).toEqual(["Connection job does not accept works", "CONFLICT"]);
  });
});

describe("P7 the rest of the flow", () => {
  it("P7 a started connection is pending and returns the next step", async () => {
    const variables = { workspaceId: await newWorkspace(), providerKey: "acme-books" };
    const expected = { ...variables, status: "pending", action: "collect", settings: null };
    expect(await done(start(variables))).toMatchObject(expected);
  });

  it("P7 users are added at once, with an existing account where there is one", async () => {
    const [first, second] = [await newWorkspace(), await newWorkspace()];
    const userEmails = ["Ann@Firm.example", "bob@firm.example", "ann@firm.example"];
    const added = await done(addUsers({ workspaceId: first, userEmails }));
    expect(added).toMatchObject([
      { email: "ann@firm.example", role: "admin" },
      { email: "bob@firm.example" },
    ]);
    const [again] = await done(addUsers({ workspaceId: second, userEmails: ["bob@firm.example"] }));
    expect(again.id).toBe(added[1].id);
    expect(await done(addUsers({ workspaceId: first, userEmails }))).toEqual(added);
  });

  it.each([[[]], [["no-at-sign"]], [["a@b.example", ""]]])(
    "P7 the user emails %j are rejected",
    async (userEmails) => {
      const { code } = await addUsers({ workspaceId: await newWorkspace(), userEmails });
      expect(code).toBe("BAD_USER_INPUT");
    },
  );

  it("P7 artifacts are attached to a work", async () => {
    const { connectionJobId, jobWorkId } = await newWork();
    const w2 = { name: "w2.pdf", type: "w2", externalId: "f-1", metadata: { year: 2025 } };
    const url = "https://files.example/w2.pdf";
    const note = { name: "note.txt", type: "receipt", externalId: "f-2" };
    const [first, second] = await done(createArtifacts({ jobWorkId, inputs: [{ ...w2, url }, note] }));
    expect(first).toMatchObject({
      connectionJobId,
      jobWorkId,
      workArtifact: { id: first.artifactId, ...w2, uploadedUrl: url },
    });
    expect(second.workArtifact).toMatchObject({ ...note, uploadedUrl: null, metadata: null });
  });

  it.each([
    ["a broken url", { url: "nowhere" }],
    ["a url of another scheme", { url: "file:///etc/passwd" }],
    ["a blank name", { name: "" }],
    ["a blank externalId", { externalId: " " }],
  ])("P7 an artifact with %s is rejected", async (_name, input) => {
    const { jobWorkId } = await newWork();
    const inputs = [{ name: "a", type: "w2", externalId: "a", ...input }];
    expect((await createArtifacts({ jobWorkId, inputs })).code).toBe("BAD_USER_INPUT");
  });

  it("P7 an import without works and a second import are rejected", async () => {
    const empty = await initiate({ connectionJobId: await pendingJob() });
    expect(empty.code).toBe("CONFLICT");
    const { connectionJobId } = await newWork();
    expect((await done(initiate({ connectionJobId }))).status).toBe("active");
    expect((await initiate({ connectionJobId })).code).toBe("CONFLICT");
  });

  it("P7 the whole partner flow runs from a new workspace to completed tasks", async () => {
    await using receiver = await startCapturingReceiver();
    const workspaceId = await newWorkspace("Whole Flow LLP");
    const key = await service.key({ workspaceId, role: "admin" });
    const { workspaceToken: token } = await service.tokens(key.apiKey);
    await done(endpointMutations(service).create({ url: receiver.url }, { token }));
    const connectionJobId = await pendingJob(await activeConnection(workspaceId));
    const works = await done(createWorks({ connectionJobId, inputs: [workOf("c-1"), workOf("c-2")] }));
    for (const { id } of works) {
      const inputs = [{ name: "w2.pdf", type: "w2", externalId: `${id}-w2` }];
      await done(createArtifacts({ jobWorkId: id, inputs }));
    }
    await done(initiate({ connectionJobId }));
    await service.advance("10m");

    const events = receiver.deliveries.map(({ event }) => event);
    const named = (name: string) => events.filter(({ event }) => event === name);
    const names = ["documents.synced", "task.running", "task.completed", "subtask.completed"];
    expect(names.map((name) => named(name).length)).toEqual([2, 2, 2, 10]);

    const fresh = await service.tokens(key.apiKey);
    const read = await service.graphql(
      `query ($ids: [ID!]) { me { ... on WorkspaceUser { workspace {
        tasks(filters: { ids: $ids }) {
          id type status startedAt completedAt errorMessage client { id name }
          subTasks { type status }
          result { __typename ... on TaskTaxPrepResult { taxYear returnType documentCount reviewItems { severity } } }
        }
        clients { name externalId tasks(type: "TAX_PREP", status: COMPLETED) { id } }
      } } } }`,
      { ids: named("task.completed").map(({ taskId }) => taskId) },
      { token: fresh.workspaceToken },
    );
    expect(read.errors).toBeUndefined();
    const { tasks, clients } = read.data.me.workspace;
    const result = { __typename: "TaskTaxPrepResult", documentCount: 1 };
    expect(tasks).toHaveLength(2);
    for (const task of tasks) {
      expect(task).toMatchObject({ type: "TAX_PREP", status: "COMPLETED", result });
      expect(task.subTasks).toHaveLength(5);
      expect(Date.parse(task.completedAt)).toBeGreaterThan(Date.parse(task.startedAt));
    }
    const byId = clients.map(({ externalId, tasks: own }: Record<string, object[]>) => [
      externalId,
      own?.length,
    ]);
    expect(byId.toSorted()).toEqual([
      ["c-1", 1],
      ["c-2", 1],
    ]);
  });
});

describe("P7 tasks and clients", () => {
  const client = { name: "Ada", externalId: "ada-1", returnType: "F1040", taxYear: 2025 };
  const ofInput = (name: string, type: string, selection: string) => {
    const run = mutation(service, name, `$input: ${type}!`, selection);
    return (input: Variables, options?: CallOptions) => run({ input }, options);
  };
  const createClient = ofInput(
    "createClient",
    "CreateClientInput",
    "{ client { id name externalId status returnType taxYear createdAt } taskId }",
  );
  const addDocuments = ofInput("addClientDocuments", "AddClientDocumentsInput", "{ taskId }");
  const trigger = ofInput("triggerTaxPrep", "TriggerTaxPrepInput", "{ taskId }");
  const listTasks = (variables: Variables, options?: CallOptions) =>
    service.graphql(
      `query ($filters: TaskFilters, $offset: Int, $limit: Int) {
        me { ... on WorkspaceUser { workspace { tasks(filters: $filters, offset: $offset, limit: $limit) { id type } } } }
      }`,
      { ...variables },
      options,
    );
  const newClient = async (externalId: string, options: CallOptions): Promise<string> =>
    (await done(createClient({ ...client, externalId }, options))).client.id;

  /** The id of an upload of three bytes, or of one whose bytes are missing. */
  async function upload({ token }: CallOptions, isComplete: boolean): Promise<string> {
    const made = await fetch(`${service.baseUrl}/api/uploads`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "tus-resumable": "1.0.0",
        "upload-length": "3",
        ...(isComplete && { "content-type": "application/offset+octet-stream" }),
      },
      body: isComplete ? "abc" : null,
    });
    return made.headers.get("location")?.split("/").at(-1) ?? "";
  }

  it("P7 a client's externalId is unique in its workspace only", async () => {
    const [one, other] = [await service.ownWorkspace(), await service.ownWorkspace()];
    const made = await done(createClient(client, one));
    expect(made).toMatchObject({ client: { ...client, status: "active" }, taskId: null });
    expect((await createClient(client, one)).code).toBe("CONFLICT");
    await done(createClient(client, other));
  });

  it("P7 triggerTaxPrep starts a task for the client's own return type only", async () => {
    const options = await service.ownWorkspace();
    const clientId = await newClient("a", options);
    expect((await trigger({ clientId, returnType: "F1065" }, options)).code).toBe("BAD_USER_INPUT");
    expect((await trigger({ clientId: unknownId, returnType: "F1040" }, options)).code).toBe("NOT_FOUND");
    const { taskId } = await done(trigger({ clientId, returnType: "F1040" }, options));
    const read = await service.graphql(
      `{ me { ... on WorkspaceUser { user { id } workspace { tasks {
        id status completedAt triggeredBy { id } result { ... on TaskUnknownResult { taskType } }
      } } } } }`,
      {},
      options,
    );
    const { user, workspace } = read.data.me;
    const result = { taskType: "TAX_PREP" };
    expect(workspace.tasks).toEqual([
      { id: taskId, status: "RUNNING", completedAt: null, triggeredBy: { id: user.id }, result },
    ]);
  });

  it("P7 completed uploads start a BINDER task, unknown and incomplete uploads do not", async () => {
    const options = await service.ownWorkspace();
    const [whole, half] = [await upload(options, true), await upload(options, false)];
    const codeWith = async (id: string) =>
      (await createClient({ ...client, uploadIds: [whole, id] }, options)).code;
    expect([await codeWith(unknownId), await codeWith(half)]).toEqual(["NOT_FOUND", "CONFLICT"]);
    const made = await done(createClient({ ...client, uploadIds: [whole] }, options));
    const { tasks } = (await listTasks({}, options)).data.me.workspace;
    expect(tasks).toEqual([{ id: made.taskId, type: "BINDER" }]);
    const added = await done(addDocuments({ clientId: made.client.id, uploadIds: [whole] }, options));
    expect(added.taskId).not.toBe(made.taskId);
  });

  it("P7 an upload that is named twice becomes one document", async () => {
    const options = await service.ownWorkspace();
    const uploadId = await upload(options, true);
    const uploadIds = [uploadId, uploadId];
    const held = async () => {
      const { documents } = (await service.control.getSnapshot()).state;
      return documents.filter(({ externalId }) => externalId === uploadId).length;
    };
    await done(createClient({ ...client, uploadIds }, options));
    expect(await held()).toBe(1);
    await done(addDocuments({ clientId: await newClient("twice", options), uploadIds }, options));
    expect(await held()).toBe(2);
  });

  it("P7 lists are paged by offset and limit, newest first, and can be filtered", async () => {
    const { workspaceId, apiKey } = await service.workspace();
    const options = { token: (await service.tokens(apiKey)).workspaceToken };
    const clientIds = [await newClient("a", options), await newClient("b", options)];
    const made: string[] = [];
    for (const clientId of clientIds) {
      for (const taskType of ["TAX_PREP", "TAX_REVIEW", "NEW_KIND"]) {
        const task = { workspaceId, clientId, taskType, progression: "manual" as const };
        made.unshift((await service.control.startTask(task)).taskId);
      }
    }
    const ids = async (variables: Variables) =>
      (await listTasks(variables, options)).data.me.workspace.tasks.map(({ id }: { id: string }) => id);
    expect([...(await ids({ limit: 4 })), ...(await ids({ limit: 4, offset: 4 }))]).toEqual(made);
    expect(await ids({ offset: 6 })).toEqual([]);
    const filters: [filters: Variables, places: number[]][] = [
      [{}, [0, 1, 2, 3, 4, 5]],
      [{ clientIds: [clientIds[1]] }, [0, 1, 2]],
      [{ types: ["TAX_PREP"] }, [2, 5]],
      [{ types: ["TAX_PREP", "NEW_KIND"], clientIds: [clientIds[0]] }, [3, 5]],
      [{ statuses: ["COMPLETED"] }, []],
      [{ ids: [made[1], made[1], unknownId] }, [1]],
      [{ ids: [] }, []],
    ];
    for (const [each, places] of filters)
      expect(await ids({ filters: each }), JSON.stringify(each)).toEqual(places.map((place) => made[place]));
    for (const variables of [{ limit: 0 }, { limit: 1_001 }, { offset: -1 }])
      expect((await listTasks(variables, options)).code).toBe("BAD_USER_INPUT");
    expect((await listTasks({ filters: { ids: made } })).data.me.workspace.tasks).toEqual([]);
  });
});

describe("P8 other partners", () => {
  it("P8 ids of another partner fail as unknown ids", async () => {
    const workspaceId = await newWorkspace();
    const connectionId = await activeConnection(workspaceId);
    const connectionJobId = await pendingJob(connectionId);
    const [work] = await done(createWorks({ connectionJobId, inputs: [workOf("a")] }));
    const { partnerApiKey } = await service.control.createPartnerKey();
    const stranger: CallOptions = { token: await service.partnerToken(partnerApiKey), router: "gateway" };
    const artifact = { name: "a", type: "w2", externalId: "a" };
    const uses = (workspace: string, connection: string, job: string, jobWorkId: string) =>
      Promise.all([
        start({ workspaceId: workspace, providerKey: "p" }, stranger),
        addUsers({ workspaceId: workspace, userEmails: ["a@b.example"] }, stranger),
        collect({ connectionId: connection }, stranger),
        createJob({ connectionId: connection, jobName: "x" }, stranger),
        createWorks({ connectionJobId: job, inputs: [workOf("b")] }, stranger),
        createArtifacts({ jobWorkId, inputs: [artifact] }, stranger),
        initiate({ connectionJobId: job }, stranger),
      ]);
    const foreign = await uses(workspaceId, connectionId, connectionJobId, work.id);
    const unknown = await uses(unknownId, unknownId, unknownId, unknownId);
    expect(foreign.map(({ text }) => text)).toEqual(unknown.map(({ text }) => text));
    for (const { code } of foreign) expect(code).toBe("NOT_FOUND");
  });

  it("P8 a workspaceToken can access only its own workspace on the gateway", async () => {
    const own = await service.key({ role: "admin" });
    const options = { token: (await service.tokens(own.apiKey)).workspaceToken, router: "gateway" } as const;
    await done(start({ workspaceId: own.workspaceId, providerKey: "p" }, options));
    const elsewhere = await start({ workspaceId: await newWorkspace(), providerKey: "p" }, options);
    expect(elsewhere.code).toBe("NOT_FOUND");
  });
});
