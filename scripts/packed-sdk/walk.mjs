// Uses each part of the installed SDK once against a running mock. Throws when a result is not as expected.
import assert from "node:assert/strict";

export async function walk(sdk) {
  const { BASE_URL: baseUrl, GATEWAY_URL: gatewayUrl, API_KEY: apiKey } = process.env;
  const { PARTNER_API_KEY: partnerApiKey } = process.env;
  const client = sdk.createClient({ baseUrl, gatewayUrl, apiKey, partnerApiKey });

  const me = await client.me();
  assert.equal(me.__typename, "WorkspaceUser");
  const catalog = await client.webhooks.catalog();
  assert(catalog.some(({ name }) => name === "task.completed"));

  const { endpoint } = await client.webhooks.endpoints.create({ url: "https://receiver.example/hook" });
  const listed = await client.webhooks.endpoints.list({ limit: 1 }).toArray({ itemsMax: 500 });
  assert(listed.some(({ id }) => id === endpoint.id));
  await assert.rejects(client.webhooks.endpoints.delete(me.workspace.id), (error) =>
    sdk.isWorkspaceTasksError(error, "NOT_FOUND"),
  );

  const workspace = await client.partner.workspaces.create({ displayName: "Packed" });
  assert.equal(workspace.status, "active");
  const upload = await client.uploads.upload(new Blob(["wages"]), {
    fileName: "w2.txt",
    mimeType: "text/plain",
  });
  assert.equal(upload.sizeBytes, 5);
  await client.close();
  console.log(`walked on ${process.version}`);
}
