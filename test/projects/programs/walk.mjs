// Uses each part of the installed SDK once against a running mock. Throws when a result is not as expected.
export async function walk(sdk, env) {
  const {
    WORKSPACE_TASKS_BASE_URL: baseUrl,
    WORKSPACE_TASKS_GATEWAY_URL: gatewayUrl,
    WORKSPACE_TASKS_API_KEY: apiKey,
    WORKSPACE_TASKS_PARTNER_API_KEY: partnerApiKey,
  } = env;
  const client = sdk.createClient({ baseUrl, gatewayUrl, apiKey, partnerApiKey });

  const me = await client.me();
  equal(me.__typename, "WorkspaceUser");
  const catalog = await client.webhooks.catalog();
  equal(catalog.filter(({ name }) => name === "task.completed").length, 1);

  const { endpoint } = await client.webhooks.endpoints.create({ url: "https://receiver.example/hook" });
  const listed = await client.webhooks.endpoints.list({ limit: 1 }).toArray({ maxItems: 500 });
  equal(listed.filter(({ id }) => id === endpoint.id).length, 1);
  const missing = await client.webhooks.endpoints.delete(me.workspace.id).catch((error) => error);
  equal(sdk.isWorkspaceTasksError(missing, "NOT_FOUND"), true);
  const document =
    "query Name($id: ID!) { me { ... on WorkspaceUser { workspace { client(id: $id) { name } } } } }";
  equal((await client.request(document, { id: me.workspace.id })).me.workspace.client, null);

  const workspace = await client.partner.workspaces.create({ displayName: "Packed" });
  equal(workspace.status, "active");
  const upload = await client.uploads.upload(new Blob(["wages"]), {
    fileName: "w2.txt",
    mimeType: "text/plain",
  });
  equal(upload.sizeBytes, 5);
  const { taskId } = await client.taxClients.create({
    name: "Alma Reyes",
    externalId: crypto.randomUUID(),
    returnType: "F1040",
    taxYear: 2025,
    uploadIds: [upload.uploadId],
  });
  equal((await client.tasks.get(taskId)).type, "BINDER");
  const aborted = await client.me({ signal: AbortSignal.abort() }).catch((error) => error);
  equal(aborted.code, "ABORTED");
  equal(client.rateLimit().limit, 120);
  await client.close();
  return "all steps passed";
}

function equal(actual, expected) {
  if (actual !== expected) throw new Error(`expected ${expected}, got ${actual}`);
}
