import { createServer } from "node:http";
import { beforeEach, describe, expect } from "vitest";
import { startCapturingReceiver } from "../support/capturing-receiver.ts";
import { freePort, listen } from "../support/listen.ts";
import { type CallOptions, it, mockTest, onMock, useService } from "./harness.ts";

const service = useService({ settings: { rateLimit: { requests: 100_000 } } });

let partner: CallOptions;
beforeEach(async () => {
  partner = { token: await service.partnerToken(), router: "gateway" };
});

type Input = Record<string, unknown>;
type Options = CallOptions | undefined;

const createWorkspace = (input: Input, options: Options = partner) =>
  service.graphql(
    `mutation ($input: CreateWorkspaceInput!) {
      createWorkspace(input: $input) { id slug displayName status workspaceType }
    }`,
    { input },
    options,
  );
const start = (variables: Input, options: Options = partner) =>
  service.graphql(
    `mutation ($workspaceId: ID!, $providerKey: String!, $inputs: JSON) {
      startProviderConnection(workspaceId: $workspaceId, providerKey: $providerKey, inputs: $inputs) {
        id workspaceId providerKey status displayName settings action createdAt updatedAt
      }
    }`,
    variables,
    options,
  );
const collect = (variables: Input, options: Options = partner) =>
  service.graphql(
    `mutation ($connectionId: ID!, $inputs: JSON) {
      collectProviderConnection(connectionId: $connectionId, inputs: $inputs) {
        id workspaceId providerKey status displayName settings updatedAt action
      }
    }`,
    variables,
    options,
  );
const createJob = (variables: Input, options: Options = partner) =>
  service.graphql(
    `mutation ($connectionId: ID!, $jobName: String!) {
      createConnectionJob(connectionId: $connectionId, jobName: $jobName) {
        id connectionId workspaceId name status createdAt updatedAt
      }
    }`,
    variables,
    options,
  );
const createWorks = (variables: Input, options: Options = partner) =>
  service.graphql(
    `mutation ($connectionJobId: ID!, $inputs: [CreateJobWorksInput!]!) {
      createJobWorks(connectionJobId: $connectionJobId, inputs: $inputs) {
        id workId workspaceId connectionJobId createdAt updatedAt
      }
    }`,
    variables,
    options,
  );
const createArtifacts = (variables: Input, options: Options = partner) =>
  service.graphql(
    `mutation ($jobWorkId: ID!, $inputs: [CreateJobWorkArtifactsInput!]!) {
      createJobWorkArtifacts(jobWorkId: $jobWorkId, inputs: $inputs) {
        id artifactId workspaceId connectionJobId jobWorkId createdAt updatedAt
        workArtifact { id externalId name type status uploadedUrl metadata }
      }
    }`,
    variables,
    options,
  );
const initiate = (connectionJobId: string, options: Options = partner) =>
  service.graphql(
    "mutation ($id: ID!) { initiateTaxPrepsImport(connectionJobId: $id) { id status updatedAt } }",
    { id: connectionJobId },
    options,
  );
const addUsers = (variables: Input, options: Options = partner) =>
  service.graphql(
    `mutation ($workspaceId: ID!, $userEmails: [String!]!) {
      addUsersToTheWorkspace(workspaceId: $workspaceId, userEmails: $userEmails) { id email name role }
    }`,
    variables,
    options,
  );

async function newWorkspace(displayName = "Firm", options: Options = partner): Promise<string> {
  const response = await createWorkspace({ displayName }, options);
  expect(response.errors).toBeUndefined();
  return response.data.createWorkspace.id;
}

async function pendingConnection(inputs: Input | null = null, workspaceId?: string): Promise<string> {
  const response = await start({
    workspaceId: workspaceId ?? (await newWorkspace()),
    providerKey: "acme-books",
    inputs,
  });
  expect(response.errors).toBeUndefined();
  return response.data.startProviderConnection.id;
}

async function activeConnection(workspaceId?: string): Promise<string> {
  const connectionId = await pendingConnection(null, workspaceId);
  const response = await collect({ connectionId });
  expect(response.data.collectProviderConnection.status).toBe("active");
  return connectionId;
}

async function pendingJob(connectionId?: string): Promise<string> {
  const response = await createJob({
    connectionId: connectionId ?? (await activeConnection()),
    jobName: "2025",
  });
  expect(response.errors).toBeUndefined();
  return response.data.createConnectionJob.id;
}

async function otherPartner(): Promise<CallOptions> {
  const { partnerApiKey } = await service.control.createPartnerKey();
  return { token: await service.partnerToken(partnerApiKey), router: "gateway" };
}

const unknownId = "00000000-0000-7000-8000-000000000000";

describe("P1 createWorkspace", () => {
  it("P1 createWorkspace returns an active partner workspace", async () => {
    const response = await createWorkspace({
      displayName: "Müller & Söhne Tax",
      firmSize: "md",
      metadata: { customer: "c-1", partner: { reference: 7 } },
    });
    expect(response.data.createWorkspace).toEqual({
      id: expect.any(String),
      slug: expect.stringMatching(/^[a-z0-9]+(-[a-z0-9]+)*$/),
      displayName: "Müller & Söhne Tax",
      status: "active",
      workspaceType: "partner",
    });
  });

  it.each(["xs", "sm", "md", "lg", "xl"])("P1 the firm size %s is accepted", async (firmSize) => {
    expect((await createWorkspace({ displayName: "Firm", firmSize })).errors).toBeUndefined();
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
    const response = await createWorkspace(input);
    expect(response.data ?? null).toBeNull();
    expect(response.errors).toHaveLength(1);
    expect(response.errors?.[0]?.message).not.toBe("Internal server error");
  });

  it("P1 slugs are unique, also for equal names and names without letters", async () => {
    const names = ["Same Name", "Same Name", "same-name", "名前", "名前"];
    const slugs: string[] = [];
    for (const displayName of names) {
      slugs.push((await createWorkspace({ displayName })).data.createWorkspace.slug);
    }
    expect(new Set(slugs).size).toBe(names.length);
    for (const slug of slugs) expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  });
});

describe("P2 permission", () => {
  it("P2 createWorkspace without a token fails", async () => {
    const response = await createWorkspace({ displayName: "Firm" }, { router: "gateway", token: null });
    expect(response.errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
  });

  it("P2 createWorkspace with an invalid token fails", async () => {
    const response = await createWorkspace({ displayName: "Firm" }, { router: "gateway", token: "a.b.c" });
    expect(response.errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
  });

  it("P2 createWorkspace with a workspaceToken or a userToken fails", async () => {
    const { workspaceToken, userToken } = await service.tokens();
    for (const token of [workspaceToken, userToken]) {
      const response = await createWorkspace({ displayName: "Firm" }, { router: "gateway", token });
      expect(response.errors?.[0]?.extensions?.code).toBe("FORBIDDEN");
    }
  });

  mockTest("P2 createWorkspace with an expired partner token fails", async () => {
    const token = await service.partnerToken();
    await service.advance("180s");
    const response = await createWorkspace({ displayName: "Firm" }, { router: "gateway", token });
    expect(response.errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
  });

  it("P2 a wrong partner key returns no token", async () => {
    const response = await service.graphql(
      'mutation { loginViaPersonalApiToken(token: "wrong") { accessToken } }',
      {},
      { router: "gateway", token: null },
    );
    expect(response.data ?? null).toBeNull();
    expect(response.errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
  });

  mockTest("P2 an API key of a workspace is rejected as a partner key", async () => {
    const response = await service.graphql(
      "mutation ($token: String!) { loginViaPersonalApiToken(token: $token) { accessToken } }",
      { token: service.apiKey },
      { router: "gateway", token: null },
    );
    expect(response.errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
  });
});

describe("P3 collectProviderConnection", () => {
  it("P3 collecting an unknown connection fails with NOT_FOUND", async () => {
    const response = await collect({ connectionId: unknownId });
    expect(response.errors?.[0]).toMatchObject({
      message: "Provider connection not found",
      extensions: { code: "NOT_FOUND" },
    });
  });

  it("P3 a collected connection is active and returns its inputs as settings", async () => {
    const workspaceId = await newWorkspace();
    const connectionId = await pendingConnection({ apiKey: "good" }, workspaceId);
    const inputs = { firmReference: "f-1", nested: { list: [1, "two", null, true] } };
    const response = await collect({ connectionId, inputs });
    expect(response.data.collectProviderConnection).toMatchObject({
      id: connectionId,
      workspaceId,
      providerKey: "acme-books",
      status: "active",
      settings: inputs,
    });
  });

  it("P3 collecting without inputs keeps the existing settings", async () => {
    const connectionId = await pendingConnection();
    expect((await collect({ connectionId })).data.collectProviderConnection.settings).toBeNull();
    await collect({ connectionId, inputs: { a: 1 } });
    expect((await collect({ connectionId })).data.collectProviderConnection.settings).toEqual({ a: 1 });
  });

  it("P3 a failed call of the platform returns an error state and no GraphQL error", async () => {
    const connectionId = await pendingConnection({ apiKey: "invalid-key" });
    const response = await collect({ connectionId });
    expect(response.errors).toBeUndefined();
    expect(response.data.collectProviderConnection.status).toBe("failed");
  });

  it.each([[[1]], ["text"], [7]])("P3 the inputs %j are rejected", async (inputs) => {
    const response = await collect({ connectionId: await pendingConnection(), inputs });
    expect(response.errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
  });

  it("P3 credentials of the start step are never returned", async () => {
    const connectionId = await pendingConnection({ apiKey: "hush-1", securityToken: "hush-2" });
    const response = await collect({ connectionId, inputs: { a: 1 } });
    expect(response.text).not.toContain("hush");
    if (onMock) {
      const journal = await service.control.listRequests({ limit: 1_000 });
      expect(JSON.stringify(journal)).not.toContain("hush");
    }
  });

  mockTest.each([
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
    const connectionId = await pendingConnection({ baseUrl, apiKey: "k-1" });
    const response = await collect({ connectionId });
    expect(response.data.collectProviderConnection.status).toBe(expected);
    expect(asked).toEqual(["GET Bearer k-1"]);
  });

  mockTest("P3 a connection to an unreachable platform fails and can be collected again", async () => {
    const platform = createServer((_request, response) => response.end());
    const port = await freePort();
    const connectionId = await pendingConnection({ baseUrl: `http://127.0.0.1:${port}/` });
    expect((await collect({ connectionId })).data.collectProviderConnection.status).toBe("failed");
    await using _listening = await listen(platform, port);
    expect((await collect({ connectionId })).data.collectProviderConnection.status).toBe("active");
  });
});

describe("P4 createConnectionJob", () => {
  it("P4 a job on an active connection is pending", async () => {
    const connectionId = await activeConnection();
    const response = await createJob({ connectionId, jobName: "Season 2025" });
    expect(response.data.createConnectionJob).toMatchObject({
      connectionId,
      name: "Season 2025",
      status: "pending",
      workspaceId: expect.any(String),
    });
  });

  it("P4 a job on an unknown connection fails with NOT_FOUND", async () => {
    const response = await createJob({ connectionId: unknownId, jobName: "x" });
    expect(response.errors?.[0]?.extensions?.code).toBe("NOT_FOUND");
  });

  it.each([
    ["pending", null],
    ["failed", { apiKey: "invalid" }],
  ])("P4 a job on a %s connection is rejected", async (status, inputs) => {
    const connectionId = await pendingConnection(inputs);
    if (status === "failed") await collect({ connectionId });
    const response = await createJob({ connectionId, jobName: "x" });
    expect(response.errors?.[0]).toMatchObject({
      message: "Provider connection is not active",
      extensions: { code: "CONFLICT" },
    });
  });

  it("P4 a job with a blank name is rejected", async () => {
    const response = await createJob({ connectionId: await activeConnection(), jobName: "  " });
    expect(response.errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
  });
});

describe("P5 createJobWorks", () => {
  it("P5 createJobWorks returns the works in the order of the inputs", async () => {
    const connectionJobId = await pendingJob();
    const inputs = ["a", "b", "c"].map((externalId) => ({ name: `Client ${externalId}`, externalId }));
    const response = await createWorks({ connectionJobId, inputs });
    expect(response.data.createJobWorks).toHaveLength(3);
    for (const work of response.data.createJobWorks) expect(work.connectionJobId).toBe(connectionJobId);
  });

  it("P5 works for an unknown job fail with NOT_FOUND", async () => {
    const response = await createWorks({
      connectionJobId: unknownId,
      inputs: [{ name: "a", externalId: "a" }],
    });
    expect(response.errors?.[0]?.extensions?.code).toBe("NOT_FOUND");
  });

  const duplicate = {
    message: 'externalId "a" is already used in this connection',
    extensions: { code: "CONFLICT" },
  };

  it("P5 createJobWorks with an externalId twice creates nothing", async () => {
    const connectionJobId = await pendingJob();
    const [a, b] = ["a", "b"].map((externalId) => ({ name: "x", externalId }));
    const response = await createWorks({ connectionJobId, inputs: [b, a, a] });
    expect(response.errors?.[0]).toMatchObject(duplicate);
    expect((await createWorks({ connectionJobId, inputs: [a, b] })).errors).toBeUndefined();
  });

  it("P5 an externalId is unique within its connection only", async () => {
    const connectionId = await activeConnection();
    const inputs = [{ name: "x", externalId: "a" }];
    await createWorks({ connectionJobId: await pendingJob(connectionId), inputs });
    const again = await createWorks({
      connectionJobId: await pendingJob(connectionId),
      inputs: [{ name: "y", externalId: "new" }, ...inputs],
    });
    expect(again.errors?.[0]).toMatchObject(duplicate);
    const elsewhere = await createWorks({ connectionJobId: await pendingJob(), inputs });
    expect(elsewhere.errors).toBeUndefined();
  });

  it.each([
    ["no inputs", []],
    ["a blank name", [{ name: " ", externalId: "a" }]],
    ["a blank externalId", [{ name: "a", externalId: "" }]],
  ])("P5 createJobWorks with %s is rejected", async (_name, inputs) => {
    const response = await createWorks({ connectionJobId: await pendingJob(), inputs });
    expect(response.errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
  });

  it("P5 works for a job with a started import are rejected", async () => {
    const connectionJobId = await pendingJob();
    await createWorks({ connectionJobId, inputs: [{ name: "a", externalId: "a" }] });
    expect((await initiate(connectionJobId)).errors).toBeUndefined();
    const response = await createWorks({ connectionJobId, inputs: [{ name: "b", externalId: "b" }] });
    expect(response.errors?.[0]).toMatchObject({
      message: "Connection job does not accept works",
      extensions: { code: "CONFLICT" },
    });
  });

  mockTest("P5 more works than the maximum are rejected", async () => {
    const inputs = Array.from({ length: 1_001 }, (_, index) => ({ name: "x", externalId: `x-${index}` }));
    const response = await createWorks({ connectionJobId: await pendingJob(), inputs });
    expect(response.errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
  });
});

describe("P6 ids of works", () => {
  it("P6 all ids and work ids are distinct", async () => {
    const connectionJobId = await pendingJob();
    const inputs = Array.from({ length: 20 }, (_, index) => ({ name: "x", externalId: `x-${index}` }));
    const works = (await createWorks({ connectionJobId, inputs })).data.createJobWorks;
    const ids = works.flatMap(({ id, workId }: { id: string; workId: string }) => [id, workId]);
    expect(new Set(ids).size).toBe(40);
  });
});

describe("P7 the rest of the flow", () => {
  it("P7 a started connection is pending and returns the next step", async () => {
    const workspaceId = await newWorkspace();
    const response = await start({ workspaceId, providerKey: "acme-books" });
    expect(response.data.startProviderConnection).toMatchObject({
      workspaceId,
      providerKey: "acme-books",
      status: "pending",
      action: "collect",
      settings: null,
    });
  });

  it("P7 users are added at once, with an existing account where there is one", async () => {
    const first = await newWorkspace();
    const second = await newWorkspace();
    const userEmails = ["Ann@Firm.example", "bob@firm.example", "ann@firm.example"];
    const added = (await addUsers({ workspaceId: first, userEmails })).data.addUsersToTheWorkspace;
    expect(added.map(({ email }: { email: string }) => email)).toEqual([
      "ann@firm.example",
      "bob@firm.example",
    ]);
    expect(added[0].role).toBe("admin");
    const again = (await addUsers({ workspaceId: second, userEmails: ["bob@firm.example"] })).data
      .addUsersToTheWorkspace;
    expect(again[0].id).toBe(added[1].id);
    const repeated = (await addUsers({ workspaceId: first, userEmails })).data.addUsersToTheWorkspace;
    expect(repeated).toEqual(added);
  });

  it.each([[[]], [["no-at-sign"]], [["a@b.example", ""]]])(
    "P7 the user emails %j are rejected",
    async (userEmails) => {
      const response = await addUsers({ workspaceId: await newWorkspace(), userEmails });
      expect(response.errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
    },
  );

  it("P7 artifacts are attached to a work", async () => {
    const connectionJobId = await pendingJob();
    const works = await createWorks({ connectionJobId, inputs: [{ name: "a", externalId: "a" }] });
    const jobWorkId = works.data.createJobWorks[0].id;
    const inputs = [
      {
        name: "w2.pdf",
        type: "w2",
        externalId: "f-1",
        url: "https://files.example/w2.pdf",
        metadata: { year: 2025 },
      },
      { name: "note.txt", type: "receipt", externalId: "f-2" },
    ];
    const artifacts = (await createArtifacts({ jobWorkId, inputs })).data.createJobWorkArtifacts;
    expect(artifacts[0]).toMatchObject({
      connectionJobId,
      jobWorkId,
      workArtifact: {
        id: artifacts[0].artifactId,
        name: "w2.pdf",
        type: "w2",
        externalId: "f-1",
        uploadedUrl: "https://files.example/w2.pdf",
        metadata: { year: 2025 },
      },
    });
    expect(artifacts[1].workArtifact).toMatchObject({ uploadedUrl: null, metadata: null });
  });

  it.each([
    ["a broken url", { name: "a", type: "w2", externalId: "a", url: "nowhere" }],
    ["a url of another scheme", { name: "a", type: "w2", externalId: "a", url: "file:///etc/passwd" }],
    ["a blank name", { name: "", type: "w2", externalId: "a" }],
    ["a blank externalId", { name: "a", type: "w2", externalId: " " }],
  ])("P7 an artifact with %s is rejected", async (_name, input) => {
    const works = await createWorks({
      connectionJobId: await pendingJob(),
      inputs: [{ name: "a", externalId: "a" }],
    });
    const response = await createArtifacts({ jobWorkId: works.data.createJobWorks[0].id, inputs: [input] });
    expect(response.errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
  });

  it("P7 an import without works and a second import are rejected", async () => {
    const connectionJobId = await pendingJob();
    expect((await initiate(connectionJobId)).errors?.[0]?.extensions?.code).toBe("CONFLICT");
    await createWorks({ connectionJobId, inputs: [{ name: "a", externalId: "a" }] });
    expect((await initiate(connectionJobId)).data.initiateTaxPrepsImport.status).toBe("active");
    expect((await initiate(connectionJobId)).errors?.[0]?.extensions?.code).toBe("CONFLICT");
  });

  mockTest("P7 the whole partner flow runs from a new workspace to completed tasks", async () => {
    await using receiver = await startCapturingReceiver();
    const workspaceId = await newWorkspace("Whole Flow LLP");
    const key = await service.key({ workspaceId, role: "admin" });
    const { workspaceToken: token } = await service.tokens(key.apiKey);
    await service.graphql(
      "mutation ($url: String!) { createWebhookEndpoint(input: { url: $url }) { endpoint { id } } }",
      { url: receiver.url },
      { token },
    );
    const connectionJobId = await pendingJob(await activeConnection(workspaceId));
    const works = await createWorks({
      connectionJobId,
      inputs: ["c-1", "c-2"].map((externalId) => ({ name: `Client ${externalId}`, externalId })),
    });
    for (const { id } of works.data.createJobWorks) {
      await createArtifacts({
        jobWorkId: id,
        inputs: [{ name: "w2.pdf", type: "w2", externalId: `${id}-w2` }],
      });
    }
    await initiate(connectionJobId);
    await service.advance("10m");

    const events = receiver.deliveries.map(({ event }) => event);
    const named = (name: string) => events.filter(({ event }) => event === name);
    expect(named("documents.synced")).toHaveLength(2);
    expect(named("task.running")).toHaveLength(2);
    expect(named("task.completed")).toHaveLength(2);
    expect(named("subtask.completed")).toHaveLength(10);

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
    expect(tasks).toHaveLength(2);
    for (const task of tasks) {
      expect(task).toMatchObject({
        type: "TAX_PREP",
        status: "COMPLETED",
        result: { __typename: "TaskTaxPrepResult", documentCount: 1 },
      });
      expect(task.subTasks).toHaveLength(5);
      expect(Date.parse(task.completedAt)).toBeGreaterThan(Date.parse(task.startedAt));
    }
    expect(clients.map(({ externalId }: { externalId: string }) => externalId).sort()).toEqual([
      "c-1",
      "c-2",
    ]);
    for (const client of clients) expect(client.tasks).toHaveLength(1);
  });
});

describe("P7 tasks and clients", () => {
  const client = { name: "Ada", externalId: "ada-1", returnType: "F1040", taxYear: 2025 };
  const createClient = (input: Input, options?: CallOptions) =>
    service.graphql(
      `mutation ($input: CreateClientInput!) {
        createClient(input: $input) { client { id name externalId status returnType taxYear createdAt } taskId }
      }`,
      { input },
      options,
    );
  const listTasks = (variables: Input, options?: CallOptions) =>
    service.graphql(
      `query ($filters: TaskFilters, $offset: Int, $limit: Int) {
        me { ... on WorkspaceUser { workspace { tasks(filters: $filters, offset: $offset, limit: $limit) { id type } } } }
      }`,
      variables,
      options,
    );

  async function ownWorkspace(): Promise<CallOptions> {
    const { apiKey } = await service.workspace();
    return { token: (await service.tokens(apiKey)).workspaceToken };
  }

  mockTest("P7 a client's externalId is unique in its workspace only", async () => {
    const [one, other] = [await ownWorkspace(), await ownWorkspace()];
    const made = await createClient(client, one);
    expect(made.data.createClient).toMatchObject({ client: { ...client, status: "active" }, taskId: null });
    expect((await createClient(client, one)).errors?.[0]?.extensions?.code).toBe("CONFLICT");
    expect((await createClient(client, other)).errors).toBeUndefined();
  });

  mockTest("P7 triggerTaxPrep starts a task for the client's own return type only", async () => {
    const options = await ownWorkspace();
    const { id } = (await createClient(client, options)).data.createClient.client;
    const trigger = (clientId: string, returnType: string) =>
      service.graphql(
        "mutation ($input: TriggerTaxPrepInput!) { triggerTaxPrep(input: $input) { taskId } }",
        { input: { clientId, returnType } },
        options,
      );
    expect((await trigger(id, "F1065")).errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
    expect((await trigger(unknownId, "F1040")).errors?.[0]?.extensions?.code).toBe("NOT_FOUND");
    const { taskId } = (await trigger(id, "F1040")).data.triggerTaxPrep;
    const read = await service.graphql(
      `{ me { ... on WorkspaceUser { user { id } workspace { tasks {
        id status completedAt triggeredBy { id } result { ... on TaskUnknownResult { taskType } }
      } } } } }`,
      {},
      options,
    );
    expect(read.data.me.workspace.tasks).toEqual([
      {
        id: taskId,
        status: "RUNNING",
        completedAt: null,
        triggeredBy: { id: read.data.me.user.id },
        result: { taskType: "TAX_PREP" },
      },
    ]);
  });

  mockTest("P7 completed uploads start a BINDER task, unknown and incomplete uploads do not", async () => {
    const options = await ownWorkspace();
    const upload = async (bytes: string, complete: boolean) => {
      const headers = { authorization: `Bearer ${options.token}`, "tus-resumable": "1.0.0" };
      const made = await fetch(`${service.baseUrl}/api/uploads`, {
        method: "POST",
        headers: { ...headers, "upload-length": String(bytes.length) },
      });
      const location = new URL(made.headers.get("location") ?? "", service.baseUrl);
      if (complete) {
        await fetch(location, {
          method: "PATCH",
          headers: { ...headers, "upload-offset": "0", "content-type": "application/offset+octet-stream" },
          body: bytes,
        });
      }
      return location.pathname.split("/").at(-1);
    };
    const [whole, half] = [await upload("abc", true), await upload("abc", false)];
    const wrong = [
      [unknownId, "NOT_FOUND"],
      [half, "CONFLICT"],
    ] as const;
    for (const [uploadId, code] of wrong) {
      const response = await createClient({ ...client, uploadIds: [whole, uploadId] }, options);
      expect(response.errors?.[0]?.extensions?.code).toBe(code);
    }
    const made = (await createClient({ ...client, uploadIds: [whole] }, options)).data.createClient;
    const tasks = (await listTasks({}, options)).data.me.workspace.tasks;
    expect(tasks).toEqual([{ id: made.taskId, type: "BINDER" }]);
    const added = await service.graphql(
      "mutation ($input: AddClientDocumentsInput!) { addClientDocuments(input: $input) { taskId } }",
      { input: { clientId: made.client.id, uploadIds: [whole] } },
      options,
    );
    expect(added.data.addClientDocuments.taskId).not.toBe(made.taskId);
  });

  mockTest("P7 an upload that is named twice becomes one document", async () => {
    const options = await ownWorkspace();
    const made = await fetch(`${service.baseUrl}/api/uploads`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${options.token}`,
        "tus-resumable": "1.0.0",
        "upload-length": "1",
        "content-type": "application/offset+octet-stream",
      },
      body: "a",
    });
    const uploadId = made.headers.get("location")?.split("/").at(-1);
    const held = async () => {
      const { documents } = (await service.control.getSnapshot()).state;
      return documents.filter(({ externalId }) => externalId === uploadId).length;
    };
    await createClient({ ...client, uploadIds: [uploadId, uploadId] }, options);
    expect(await held()).toBe(1);
    const { id: clientId } = (await createClient({ ...client, externalId: "twice" }, options)).data
      .createClient.client;
    await service.graphql(
      "mutation ($input: AddClientDocumentsInput!) { addClientDocuments(input: $input) { taskId } }",
      { input: { clientId, uploadIds: [uploadId, uploadId] } },
      options,
    );
    expect(await held()).toBe(2);
  });

  mockTest("P7 lists are paged by offset and limit, newest first, and can be filtered", async () => {
    const { workspaceId, apiKey } = await service.workspace();
    const options = { token: (await service.tokens(apiKey)).workspaceToken };
    const made: string[] = [];
    const clientIds: string[] = [];
    for (const externalId of ["a", "b"]) {
      const { id } = (await createClient({ ...client, externalId }, options)).data.createClient.client;
      clientIds.push(id);
      for (const taskType of ["TAX_PREP", "TAX_REVIEW", "NEW_KIND"]) {
        const body = { workspaceId, clientId: id, taskType, progression: "manual" as const };
        made.unshift((await service.control.startTask(body)).taskId);
      }
    }
    const ids = async (variables: Input) =>
      (await listTasks(variables, options)).data.me.workspace.tasks.map(({ id }: { id: string }) => id);
    expect(await ids({})).toEqual(made);
    expect([...(await ids({ limit: 4 })), ...(await ids({ limit: 4, offset: 4 }))]).toEqual(made);
    expect(await ids({ offset: 6 })).toEqual([]);
    expect(await ids({ filters: { clientIds: [clientIds[1]] } })).toEqual(made.slice(0, 3));
    expect(await ids({ filters: { types: ["TAX_PREP"] } })).toEqual([made[2], made[5]]);
    expect(await ids({ filters: { types: ["TAX_PREP", "NEW_KIND"], clientIds: [clientIds[0]] } })).toEqual([
      made[3],
      made[5],
    ]);
    expect(await ids({ filters: { statuses: ["COMPLETED"] } })).toEqual([]);
    expect(await ids({ filters: { ids: [made[1], made[1], unknownId] } })).toEqual([made[1]]);
    expect(await ids({ filters: { ids: [] } })).toEqual([]);
    for (const variables of [{ limit: 0 }, { limit: 1_001 }, { offset: -1 }]) {
      expect((await listTasks(variables, options)).errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
    }
    expect((await listTasks({ filters: { ids: made } })).data.me.workspace.tasks).toEqual([]);
  });
});

describe("P8 other partners", () => {
  mockTest("P8 ids of another partner fail as unknown ids", async () => {
    const workspaceId = await newWorkspace();
    const connectionId = await activeConnection(workspaceId);
    const jobId = await pendingJob(connectionId);
    const works = await createWorks({
      connectionJobId: jobId,
      inputs: [{ name: "a", externalId: "a" }],
    });
    const jobWorkId = works.data.createJobWorks[0].id;
    const stranger = await otherPartner();
    const uses = (ids: { workspaceId: string; connectionId: string; jobId: string; jobWorkId: string }) =>
      Promise.all([
        start({ workspaceId: ids.workspaceId, providerKey: "p" }, stranger),
        addUsers({ workspaceId: ids.workspaceId, userEmails: ["a@b.example"] }, stranger),
        collect({ connectionId: ids.connectionId }, stranger),
        createJob({ connectionId: ids.connectionId, jobName: "x" }, stranger),
        createWorks({ connectionJobId: ids.jobId, inputs: [{ name: "b", externalId: "b" }] }, stranger),
        createArtifacts(
          { jobWorkId: ids.jobWorkId, inputs: [{ name: "a", type: "w2", externalId: "a" }] },
          stranger,
        ),
        initiate(ids.jobId, stranger),
      ]);
    const foreign = await uses({ workspaceId, connectionId, jobId, jobWorkId });
    const unknown = await uses({
      workspaceId: unknownId,
      connectionId: unknownId,
      jobId: unknownId,
      jobWorkId: unknownId,
    });
    expect(foreign.map(({ text }) => text)).toEqual(unknown.map(({ text }) => text));
    for (const response of foreign) expect(response.errors?.[0]?.extensions?.code).toBe("NOT_FOUND");
  });

  mockTest("P8 a workspaceToken can access only its own workspace on the gateway", async () => {
    const own = await service.key({ role: "admin" });
    const options = { token: (await service.tokens(own.apiKey)).workspaceToken, router: "gateway" } as const;
    expect((await start({ workspaceId: own.workspaceId, providerKey: "p" }, options)).errors).toBeUndefined();
    const elsewhere = await start({ workspaceId: await newWorkspace(), providerKey: "p" }, options);
    expect(elsewhere.errors?.[0]?.extensions?.code).toBe("NOT_FOUND");
  });
});
