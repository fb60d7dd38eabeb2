import { createClient } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { createSdkFixture, transports } from "../../support/sdk-fixture.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const url = "https://receiver.example/hook";

describe.each(transports)("the operations over %s", (transport) => {
  it("me returns the owner of the key", async () => {
    await using fixture = await createSdkFixture(transport);
    const me = await fixture.client.me();
    expect(me.__typename).toBe("WorkspaceUser");
    expect(me.__typename === "WorkspaceUser" && [me.role, me.workspace.id, me.user.email]).toEqual([
      "admin",
      fixture.mock.workspaceId,
      "admin@example.com",
    ]);
  });

  it("partner.me returns the owner of the partner key, or of the workspace key without one", async () => {
    await using fixture = await createSdkFixture(transport);
    const partner = await fixture.client.partner.me();
    expect(partner.__typename === "User" && [partner.email, partner.workspaces.map(({ id }) => id)]).toEqual([
      "partner@example.com",
      [fixture.mock.workspaceId],
    ]);
    const firm = fixture.createClient({ partnerApiKey: undefined });
    expect((await firm.partner.me()).__typename).toBe("WorkspaceUser");
  });

  it("the event catalog is fetched without a key", async () => {
    await using fixture = await createSdkFixture(transport);
    const { baseUrl, fetch } = fixture.mock;
    await using client = createClient({ baseUrl, ...(transport === "in-process" ? { fetch } : {}) });
    await expect(client.me()).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: expect.stringContaining("this call needs the option apiKey"),
    });
    const catalog = await client.webhooks.catalog();
    expect(catalog.map(({ name }) => name)).toContain("task.completed");
    expect(catalog[0]?.payloadSchema).toMatchObject({ $schema: expect.stringContaining("draft-07") });
    expect(await fixture.requests("exchangeSurfaceRefreshTokenForAccessTokens")).toBe(0);
  });

  it("a webhook endpoint is created, listed, updated, rotated and deleted", async () => {
    await using fixture = await createSdkFixture(transport);
    const { endpoints } = fixture.client.webhooks;
    const { endpoint, signingSecret } = await endpoints.create({ url, eventTypes: ["task.completed"] });
    expect(endpoint).toMatchObject({ url, description: "", enabled: true, eventTypes: ["task.completed"] });
    expect(signingSecret).toMatch(/^whsec_/);

    const paused = await endpoints.update(endpoint.id, { enabled: false, eventTypes: null });
    expect(paused).toMatchObject({ enabled: false, eventTypes: null, url });

    const rotated = await endpoints.rotateSecret(endpoint.id, { gracePeriodSeconds: 60 });
    expect(rotated.signingSecret).not.toBe(signingSecret);

    expect(await endpoints.list().toArray()).toEqual([rotated.endpoint]);
    expect(await endpoints.delete(endpoint.id)).toBe(true);
    expect(await endpoints.list().toArray()).toEqual([]);
    await expect(endpoints.delete(endpoint.id)).rejects.toMatchObject({
      code: "NOT_FOUND",
      outcome: "rejected",
    });
  });

  it("a tax client is created, fetched, listed, given documents and prepared", async () => {
    await using fixture = await createSdkFixture(transport);
    const { taxClients, uploads, tasks } = fixture.client;
    const { uploadId } = await uploads.upload(new TextEncoder().encode("wages"), {
      fileName: "w2.pdf",
      mimeType: "application/pdf",
    });
    const { client, taskId } = await taxClients.create({
      name: "Ann",
      externalId: "ann-1",
      returnType: "F1040",
      taxYear: 2025,
      uploadIds: [uploadId],
    });
    expect(client).toMatchObject({ name: "Ann", externalId: "ann-1", returnType: "F1040", taxYear: 2025 });
    expect(await taxClients.get(client.id)).toEqual(client);
    expect(await taxClients.list().toArray()).toEqual([client]);

    const second = await uploads.upload(new Uint8Array(3), {
      fileName: "1099.pdf",
      mimeType: "application/pdf",
    });
    const added = await taxClients.addDocuments(client.id, { uploadIds: [second.uploadId] });
    const started = await taxClients.triggerTaxPrep(client.id, { returnType: "F1040" });

    const listed = await taxClients.listTasks(client.id).toArray();
    expect(listed.map(({ id }) => id).sort()).toEqual([taskId, added.taskId, started.taskId].sort());
    const preps = await taxClients.listTasks(client.id, { type: "TAX_PREP", limit: 1 }).toArray();
    expect(preps.map(({ id }) => id)).toEqual([started.taskId]);
    expect(await tasks.get(started.taskId)).toMatchObject({
      id: started.taskId,
      type: "TAX_PREP",
      client: { id: client.id, name: "Ann" },
    });

    await expect(
      taxClients.create({ name: "Ann", externalId: "ann-1", returnType: "F1040", taxYear: 2025 }),
    ).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(taxClients.triggerTaxPrep(client.id, { returnType: "F990" })).rejects.toMatchObject({
      outcome: "rejected",
    });
    await expect(taxClients.get(fixture.mock.workspaceId)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(taxClients.listTasks(fixture.mock.workspaceId).toArray()).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("tasks are listed by every filter, by page", async () => {
    await using fixture = await createSdkFixture(transport);
    const { tasks } = fixture.client;
    const started = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        fixture.mock.control.startTask({
          taskType: index % 2 === 0 ? "TAX_PREP" : "BINDER",
          progression: "manual",
        }),
      ),
    );
    await fixture.mock.control.setTaskStatus(started[0]!.taskId, {
      status: "FAILED",
      errorMessage: "unreadable",
    });
    const ids = started.map(({ taskId }) => taskId);
    const idsOf = async (options: Parameters<typeof tasks.list>[0]) =>
      (await tasks.list(options).toArray()).map(({ id }) => id).sort();

    expect(await idsOf({ limit: 2 })).toEqual([...ids].sort());
    expect(await idsOf({ types: ["BINDER"] })).toEqual([ids[1], ids[3]].sort());
    expect(await idsOf({ statuses: ["FAILED"] })).toEqual([ids[0]]);
    expect(await idsOf({ ids: [ids[4]!, ids[2]!] })).toEqual([ids[2], ids[4]].sort());
    expect(await idsOf({ clientIds: [started[3]!.clientId] })).toEqual([ids[3]]);
    expect(await idsOf({ statuses: ["FAILED"], types: ["BINDER"] })).toEqual([]);
    await expect(tasks.get(fixture.mock.workspaceId)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("request() sends typed documents and strings to either router", async () => {
    await using fixture = await createSdkFixture(transport);
    const result = await fixture.client.request<{ me: { id: string } }>(
      "query Mine { me { ... on WorkspaceUser { id } } }",
    );
    expect(result.me.id).toMatch(uuid);
    const { createWorkspace } = await fixture.client.request<{ createWorkspace: { id: string } }>(
      "mutation Make($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { id } }",
      { input: { displayName: "By hand" } },
      { router: "gateway" },
    );
    expect(createWorkspace.id).toMatch(uuid);
    await expect(fixture.client.request("{ nothingLikeThis }")).rejects.toMatchObject({
      code: "DOCUMENT_INVALID",
      outcome: "rejected",
    });
    const { data } = await fixture.client
      .request<{ __typename: string }>("{ __typename }", {}, { authenticated: false })
      .withMeta();
    expect(data.__typename).toBe("Query");
  });

  it("a wrong key is rejected by the token exchange", async () => {
    await using fixture = await createSdkFixture(transport);
    await expect(fixture.createClient({ apiKey: "not-a-key" }).me()).rejects.toMatchObject({
      code: "API_KEY_REJECTED",
      outcome: "not_sent",
    });
  });
});
