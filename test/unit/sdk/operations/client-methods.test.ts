import { readFileSync } from "node:fs";
import { createClient } from "@workspace-tasks/sdk";
import { buildSchema } from "graphql";
import { expect, it } from "vitest";
import { failureOf } from "../../../support/outcome-of.ts";

/** Each method of the client, and the field of the schema it calls. */
const methods: Record<string, string | null> = {
  me: "Query.me",
  "webhooks.catalog": "Query.webhookEventCatalog",
  "webhooks.ensureEndpoint": "Mutation.createWebhookEndpoint",
  "webhooks.rotateEndpointSecret": "Mutation.rotateWebhookEndpointSecret",
  "webhooks.endpoints.list": "Workspace.webhookEndpoints",
  "webhooks.endpoints.create": "Mutation.createWebhookEndpoint",
  "webhooks.endpoints.update": "Mutation.updateWebhookEndpoint",
  "webhooks.endpoints.delete": "Mutation.deleteWebhookEndpoint",
  "webhooks.endpoints.rotateSecret": "Mutation.rotateWebhookEndpointSecret",
  "tasks.get": "Workspace.tasks",
  "tasks.list": "Workspace.tasks",
  "tasks.waitFor": "Workspace.tasks",
  "taxClients.create": "Mutation.createClient",
  "taxClients.addDocuments": "Mutation.addClientDocuments",
  "taxClients.triggerTaxPrep": "Mutation.triggerTaxPrep",
  "taxClients.list": "Workspace.clients",
  "taxClients.get": "Workspace.client",
  "taxClients.listTasks": "Client.tasks",
  "partner.me": "Query.me",
  "partner.workspaces.create": "Mutation.createWorkspace",
  "partner.workspaces.addUsers": "Mutation.addUsersToTheWorkspace",
  "partner.connections.start": "Mutation.startProviderConnection",
  "partner.connections.collect": "Mutation.collectProviderConnection",
  "partner.jobs.create": "Mutation.createConnectionJob",
  "partner.jobs.addWorks": "Mutation.createJobWorks",
  "partner.jobs.startImport": "Mutation.initiateTaxPrepsImport",
  "partner.works.attachArtifacts": "Mutation.createJobWorkArtifacts",
  "partner.imports.start": null,
  "partner.imports.waitForTasks": "Workspace.tasks",
  "uploads.upload": null,
  request: null,
  rateLimit: null,
  close: null,
};

// The client exchanges keys by itself.
const internal = ["exchangeSurfaceRefreshTokenForAccessTokens", "loginViaPersonalApiToken"];

/** Every function that hangs off a client, by its path. */
function functionsOf(value: object, path: readonly string[] = []): readonly string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    if (typeof member === "function") return [[...path, name].join(".")];
    return typeof member === "object" && member !== null ? functionsOf(member, [...path, name]) : [];
  });
}

it("the client has exactly these methods", async () => {
  await using client = createClient({ baseUrl: "https://service.example", apiKey: "key" });
  expect([...functionsOf(client)].sort()).toEqual(Object.keys(methods).sort());
});

it("a wrong argument is rejected under the name of the method that was called", async () => {
  const urls = { baseUrl: "https://service.example", gatewayUrl: "https://gateway.example" };
  await using client = createClient({ ...urls, apiKey: "key_1234567890" });
  const paths = Object.keys(methods).filter((path) => !["request", "rateLimit", "close"].includes(path));
  const named = await Promise.all(
    paths.map(async (path) => {
      const method = path
        .split(".")
        .reduce<unknown>((parent, name) => Reflect.get(parent as object, name), client);
      const { message } = await failureOf(
        Promise.resolve((method as (...wrong: number[]) => unknown)(7, 7, 7)),
      );
      return message.split(": ")[0];
    }),
  );
  expect(named).toEqual(paths);
});

it("the client has a method for every operation of the schema", () => {
  const schema = buildSchema(readFileSync("schema.graphql", "utf8"));
  const roots = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}),
  );
  const reached = Object.values(methods).map((field) => field?.split(".")[1]);
  expect(roots.filter((field) => !internal.includes(field) && !reached.includes(field))).toEqual([]);
});
