import { readdirSync, readFileSync } from "node:fs";
import { buildSchema, type GraphQLField, type GraphQLObjectType, Kind } from "graphql";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import * as sdk from "workspace-tasks/sdk";
import { errorCodes } from "../../../../sdk/errors.ts";
import { operationTable } from "../../../../sdk/generated/operation-table.ts";

/** Each method of the client: where its documentation stands, and which field of the schema it calls. */
const methods: Record<string, readonly [file: string, declaration: string, field: string]> = {
  me: ["client.ts", "WorkspaceTasksClient", "Query.me"],
  "webhooks.catalog": ["operations/webhooks.ts", "Webhooks", "Query.webhookEventCatalog"],
  "webhooks.endpoints.list": [
    "operations/webhook-endpoints.ts",
    "WebhookEndpoints",
    "Workspace.webhookEndpoints",
  ],
  "webhooks.endpoints.create": [
    "operations/webhook-endpoints.ts",
    "WebhookEndpoints",
    "Mutation.createWebhookEndpoint",
  ],
  "webhooks.endpoints.update": [
    "operations/webhook-endpoints.ts",
    "WebhookEndpoints",
    "Mutation.updateWebhookEndpoint",
  ],
  "webhooks.endpoints.delete": [
    "operations/webhook-endpoints.ts",
    "WebhookEndpoints",
    "Mutation.deleteWebhookEndpoint",
  ],
  "webhooks.endpoints.rotateSecret": [
    "operations/webhook-endpoints.ts",
    "WebhookEndpoints",
    "Mutation.rotateWebhookEndpointSecret",
  ],
  "tasks.get": ["operations/tasks.ts", "Tasks", "Workspace.tasks"],
  "tasks.list": ["operations/tasks.ts", "Tasks", "Workspace.tasks"],
  "tasks.waitFor": ["operations/tasks.ts", "Tasks", "Workspace.tasks"],
  "taxClients.create": ["operations/tax-clients.ts", "TaxClients", "Mutation.createClient"],
  "taxClients.addDocuments": ["operations/tax-clients.ts", "TaxClients", "Mutation.addClientDocuments"],
  "taxClients.triggerTaxPrep": ["operations/tax-clients.ts", "TaxClients", "Mutation.triggerTaxPrep"],
  "taxClients.list": ["operations/tax-clients.ts", "TaxClients", "Workspace.clients"],
  "taxClients.get": ["operations/tax-clients.ts", "TaxClients", "Workspace.client"],
  "taxClients.listTasks": ["operations/tax-clients.ts", "TaxClients", "Client.tasks"],
  "partner.me": ["client.ts", "Partner", "Query.me"],
  "partner.workspaces.create": [
    "operations/partner-workspaces.ts",
    "PartnerWorkspaces",
    "Mutation.createWorkspace",
  ],
  "partner.workspaces.addUsers": [
    "operations/partner-workspaces.ts",
    "PartnerWorkspaces",
    "Mutation.addUsersToTheWorkspace",
  ],
  "partner.connections.start": [
    "operations/connections.ts",
    "Connections",
    "Mutation.startProviderConnection",
  ],
  "partner.connections.collect": [
    "operations/connections.ts",
    "Connections",
    "Mutation.collectProviderConnection",
  ],
  "partner.jobs.create": ["operations/jobs.ts", "Jobs", "Mutation.createConnectionJob"],
  "partner.jobs.addWorks": ["operations/jobs.ts", "Jobs", "Mutation.createJobWorks"],
  "partner.jobs.startImport": ["operations/jobs.ts", "Jobs", "Mutation.initiateTaxPrepsImport"],
  "partner.works.attachArtifacts": ["operations/works.ts", "Works", "Mutation.createJobWorkArtifacts"],
};

/** Methods that call no one field. */
const others: Record<string, readonly [file: string, declaration: string]> = {
  "uploads.upload": ["uploads/uploads.ts", "Uploads"],
  request: ["client.ts", "WorkspaceTasksClient"],
  rateLimit: ["client.ts", "WorkspaceTasksClient"],
  close: ["client.ts", "WorkspaceTasksClient"],
};

// The client exchanges keys by itself.
const internal = ["exchangeSurfaceRefreshTokenForAccessTokens", "loginViaPersonalApiToken"];

const schema = buildSchema(readFileSync("schema.graphql", "utf8"));

function fieldOf(path: string): GraphQLField<unknown, unknown> {
  const [type = "", field = ""] = path.split(".");
  return (schema.getType(type) as GraphQLObjectType).getFields()[field]!;
}

/** `DOCUMENTED` or `ASSUMED`, for what lies beyond the interface: the field itself or the type it belongs to. */
function sourceOf(path: string): string | undefined {
  const [type = ""] = path.split(".");
  const directives = [
    ...(fieldOf(path).astNode?.directives ?? []),
    ...(schema.getType(type)?.astNode?.directives ?? []),
  ];
  const mark = directives.find(({ name }) => name.value === "beyondInterface");
  const value = mark?.arguments?.find(({ name }) => name.value === "source")?.value;
  return value?.kind === Kind.ENUM ? value.value : undefined;
}

/** The documentation of a member of an interface, without its asterisks. */
function docOf(file: string, declaration: string, member: string): string {
  const text = readFileSync(`sdk/${file}`, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = source.statements
    .filter(ts.isInterfaceDeclaration)
    .find(({ name }) => name.text === declaration)
    ?.members.find(({ name }) => name?.getText(source) === member);
  const comment = found && ts.getJSDocCommentsAndTags(found)[0];
  return comment?.getText(source).replaceAll(/\s*\n\s*\*?\s*/g, " ") ?? "";
}

/** Every function that hangs off a client, by its path. */
function functionsOf(value: object, path: readonly string[] = []): readonly string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    if (typeof member === "function") return [[...path, name].join(".")];
    return typeof member === "object" && member !== null ? functionsOf(member, [...path, name]) : [];
  });
}

describe("the entry point", () => {
  it("the SDK exports these values and no others", () => {
    expect(Object.keys(sdk).sort()).toEqual([
      "ConfigurationError",
      "TaskFailedError",
      "WorkspaceTasksError",
      "createClient",
      "diagnosticsChannels",
      "errorCodes",
      "isWorkspaceTasksError",
      "postgresRateLimitStore",
    ]);
  });
});

describe("the client", () => {
  it("the client has exactly the methods that are documented", async () => {
    await using client = sdk.createClient({ baseUrl: "https://service.example", apiKey: "key" });
    expect([...functionsOf(client)].sort()).toEqual([...Object.keys({ ...methods, ...others })].sort());
  });

  it("the client has a method for every operation of the schema", () => {
    const roots = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
      Object.keys(type?.getFields() ?? {}),
    );
    const reached = Object.values(methods).map(([, , field]) => field.split(".")[1]);
    expect(roots.filter((field) => !internal.includes(field) && !reached.includes(field))).toEqual([]);
  });

  it("every document under sdk/operations is used", () => {
    const sources = readdirSync("sdk/operations").map((file) =>
      readFileSync(`sdk/operations/${file}`, "utf8"),
    );
    const isSent = (name: string) => sources.some((text) => new RegExp(`\\(\\s*"${name}",`).test(text));
    const unsent = Object.keys(operationTable).filter((name) => !isSent(name));
    expect(unsent.sort()).toEqual(["ExchangeApiKey", "LoginPartner"]);
  });
});

describe("the documentation of each method", () => {
  const all = Object.entries<readonly [string, string, string?]>({ ...methods, ...others });

  it.each(all)(
    "the documentation of %s exists, ends its sentences and cites the interface",
    (path, [file, declaration]) => {
      const doc = docOf(file, declaration, path.split(".").at(-1) ?? "");
      expect(doc).toMatch(/^\/\*\* [A-Z].*\.( |$)/);
      if (path !== "close" && !path.startsWith("taxClients.") && !path.startsWith("tasks.")) {
        expect(doc).toMatch(/@see interface §\d/);
      }
    },
  );

  it.each(all)("the documentation of %s names only errors that exist", (path, [file, declaration]) => {
    const doc = docOf(file, declaration, path.split(".").at(-1) ?? "");
    const named = [...doc.matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, code]) => code);
    const notErrors = ["TAX_PREP"];
    expect(named.filter((code) => !notErrors.includes(code ?? ""))).toEqual(
      named.filter((code) => errorCodes.some((known) => known === code)),
    );
  });

  it.each(Object.entries(methods))(
    "the documentation of %s says whether it is beyond the interface, as the schema does",
    (path, [file, declaration, field]) => {
      const doc = docOf(file, declaration, path.split(".").at(-1) ?? "");
      const source = sourceOf(field);
      if (source === undefined) expect(doc).not.toContain("Beyond the interface");
      else expect(doc).toMatch(new RegExp(`Beyond the interface.*\\(${source.toLowerCase()}`));
    },
  );

  it.each(Object.entries(methods).filter(([, [, , field]]) => field.startsWith("Mutation.")))(
    "the documentation of %s says that it is idempotent exactly if the client repeats it",
    async (path, [file, declaration, field]) => {
      const doc = docOf(file, declaration, path.split(".").at(-1) ?? "");
      const source = readFileSync(`sdk/${file}`, "utf8");
      const name = (field.split(".")[1] ?? "").replace(/^./, (letter) => letter.toUpperCase());
      const definition = new RegExp(`defineOperation\\(\\s*"${name}"[^;]*;`).exec(source)?.[0];
      expect(definition).toBeDefined();
      expect(/(?<!Not i|not i)dempotent/i.test(doc.replaceAll(/not idempotent/gi, ""))).toBe(
        definition?.includes("idempotent: true"),
      );
    },
  );
});
