import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { callGraphql, checkedControlClient, workspaceToken } from "../../../support/mock-client.ts";

const receiverUrl = "http://127.0.0.1:1/webhooks";

const seedData = {
  workspaces: [
    {
      name: "Acme Tax",
      members: [
        { email: "Ada@acme.example", name: "Ada" },
        { email: "ben@acme.example", role: "l1", access: "read_only" },
      ],
      clients: [{ name: "Miller", returnType: "F1065", taxYear: 2024 }, { name: "constructor" }],
      connections: [{ name: "Portal", jobs: [{ name: "2025" }, { name: "2024", status: "completed" }] }],
      endpoints: [{ url: receiverUrl, eventTypes: ["task.failed"] }],
    },
    { name: "Other Firm", members: [{ email: "ada@acme.example", role: "l2" }] },
  ],
} as const;

const start = () => createMockServer({ listen: false, clock: "virtual", settings: { seedData } });

const roleOf = async (mock: MockServer, apiKey: string | null | undefined) => {
  const query = "{ me { ... on WorkspaceUser { role user { email } workspace { id } } } }";
  return (await callGraphql(mock, query, { token: await workspaceToken(mock, apiKey ?? "") })).me;
};

describe("seed data", () => {
  it("has slugs with the letters of the names, without accents", async () => {
    const names = ["Müller & Söhne", "Café Crème", "Straße ŁÓDŹ Ærø İzmir", "Muller Sohne", "名前"];
    const workspaces = names.map((name) => ({ name, members: [{ email: "ada@acme.example" }] }));
    await using mock = await createMockServer({ listen: false, settings: { seedData: { workspaces } } });
    const { data } = await mock.control.listWorkspaces();
    expect(data.map(({ slug }) => slug)).toEqual([
      ...["muller-sohne", "cafe-creme", "strasse-lodz-aero-izmir", "muller-sohne-2", "workspace"],
    ]);
  });

  it("is in the mock from its start, with ids and keys by name", async () => {
    await using mock = await start();
    const { workspaces } = await checkedControlClient(mock).getSeedData();
    const acme = workspaces["Acme Tax"];
    expect(Object.keys(workspaces)).toEqual(["Acme Tax", "Other Firm"]);
    expect([acme?.id, acme?.members["Ada@acme.example"]?.apiKey]).toEqual([mock.workspaceId, mock.apiKey]);
    expect(await roleOf(mock, mock.apiKey)).toMatchObject({
      role: "admin",
      user: { email: "ada@acme.example" },
    });
    expect(await roleOf(mock, acme?.members["ben@acme.example"]?.apiKey)).toMatchObject({ role: "l1" });
    expect(await roleOf(mock, workspaces["Other Firm"]?.members["ada@acme.example"]?.apiKey)).toMatchObject({
      role: "l2",
      workspace: { id: workspaces["Other Firm"]?.id },
    });
    expect(acme?.clients["constructor"]).toMatchObject({ id: expect.any(String) });
    const { taskId } = await mock.control.startTask({
      taskType: "BINDER",
      clientId: acme?.clients["Miller"]?.id,
    });
    expect((await mock.control.getTask(taskId)).client).toBe("Miller");
    expect(acme?.endpoints[receiverUrl]?.signingSecret).toMatch(/^whsec_/);
  });

  it("has connections and jobs that partners can use", async () => {
    await using mock = await start();
    const { workspaces } = await mock.control.getSeedData();
    const job = workspaces["Acme Tax"]?.connections["Portal"]?.jobs["2025"]?.id;
    const login = "mutation ($token: String!) { loginViaPersonalApiToken(token: $token) { accessToken } }";
    const variables = { token: mock.partnerApiKey };
    const { loginViaPersonalApiToken } = await callGraphql(mock, login, { router: "gateway", variables });
    const works = await callGraphql(
      mock,
      `mutation ($job: ID!) { createJobWorks(connectionJobId: $job, inputs: [{ name: "W", externalId: "w" }]) { id } }`,
      { router: "gateway", token: loginViaPersonalApiToken.accessToken, variables: { job } },
    );
    expect(works.createJobWorks).toHaveLength(1);
  });

  it("is the same after a reset, and keeps its keys over a snapshot", async () => {
    await using mock = await start();
    const before = await mock.control.getSeedData();
    await mock.control.reset();
    expect(await mock.control.getSeedData()).toEqual(before);
    const snapshot = await mock.control.getSnapshot();
    await using other = await start();
    await other.clock.advance("1h");
    await other.control.restoreSnapshot(snapshot);
    expect(await other.control.getSeedData()).toEqual(before);
  });
});

describe("POST /seed-data", () => {
  it("adds to a running mock, and keeps what exists by name", async () => {
    await using mock = await start();
    const control = checkedControlClient(mock);
    const { workspaces: before } = await control.getSeedData();
    const { workspaces } = await control.addSeedData({
      workspaces: [
        { name: "Acme Tax", clients: [{ name: "Miller" }, { name: "Smith" }] },
        { name: "Third Firm" },
      ],
    });
    expect(workspaces["Acme Tax"]).toMatchObject({ id: mock.workspaceId, members: {} });
    expect(workspaces["Acme Tax"]?.clients["Miller"]).toEqual(before["Acme Tax"]?.clients["Miller"]);
    expect(workspaces["Acme Tax"]?.clients["Smith"]?.id).toBeTypeOf("string");
    expect(await roleOf(mock, workspaces["Third Firm"]?.members["admin@example.com"]?.apiKey)).toMatchObject({
      role: "admin",
      workspace: { id: workspaces["Third Firm"]?.id },
    });
  });

  it("adds nothing when one endpoint is not acceptable", async () => {
    await using mock = await start();
    const plan = { workspaces: [{ name: "A" }, { name: "B", endpoints: [{ url: "ftp://b.example" }] }] };
    await expect(mock.control.addSeedData(plan)).rejects.toMatchObject({ code: "BODY_INVALID" });
    expect((await mock.control.listWorkspaces()).data).toHaveLength(2);
  });
});
