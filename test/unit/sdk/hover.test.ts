// What an editor shows when the pointer rests on a result. A type that is an alias of machinery shows the machinery.
import { join } from "node:path";
import ts from "typescript";
import { beforeAll, expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");
const file = join(root, "test/unit/sdk/hovered.ts");

/** A name of a variable, what it is assigned, and how an editor describes it. */
const results: readonly (readonly [name: string, value: string, type: string])[] = [
  ["me", "await client.me()", "Me"],
  ["workspaceUser", "me.__typename === 'WorkspaceUser' ? me : undefined", "WorkspaceUser | undefined"],
  ["workspace", "workspaceUser!.workspace", "Workspace"],
  ["endpointSecret", "await client.webhooks.endpoints.create({ url: '' })", "WebhookEndpointSecret"],
  ["endpoint", "endpointSecret.endpoint", "WebhookEndpoint"],
  ["endpoints", "client.webhooks.endpoints.list()", "PagedList<WebhookEndpoint, string>"],
  ["catalog", "await client.webhooks.catalog()", "readonly WebhookEventType[]"],
  ["task", "await client.tasks.get('')", "Task"],
  ["tasks", "await client.tasks.list().toArray()", "Task[]"],
  ["stages", "task.subTasks", "readonly SubTask[]"],
  ["result", "task.result", "TaskResult"],
  ["triggeredBy", "task.triggeredBy", "UserShortDetails | null"],
  ["created", "await client.taxClients.create({} as never)", "CreateTaxClientResult"],
  ["taxClient", "created.client", "TaxClient"],
  ["started", "await client.taxClients.triggerTaxPrep('', {} as never)", "StartedTask"],
  ["partnerWorkspace", "await client.partner.workspaces.create({ displayName: '' })", "PartnerWorkspace"],
  ["users", "await client.partner.workspaces.addUsers('', { userEmails: [] })", "readonly AddedUser[]"],
  ["connection", "await client.partner.connections.collect('')", "ProviderConnection"],
  ["job", "await client.partner.jobs.startImport('')", "ConnectionJob"],
  ["works", "await client.partner.jobs.addWorks('', [])", "readonly JobWork[]"],
  ["artifacts", "await client.partner.works.attachArtifacts('', [])", "readonly JobArtifact[]"],
  ["upload", "await client.uploads.upload(new Blob(), {} as never)", "Upload"],
  ["withMeta", "await client.me().withMeta()", "ResultWithMeta<Me>"],
];

let hover: (name: string) => string;

beforeAll(() => {
  const text = `import { createClient } from "workspace-tasks/sdk";
const client = createClient({ baseUrl: "", apiKey: "" });
${results.map(([name, value]) => `const ${name} = ${value};`).join("\n")}`;
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const service = ts.createLanguageService({
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot(path) {
      const content = path === file ? text : ts.sys.readFile(path);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
  hover = (name) => {
    const position = text.indexOf(`const ${name} =`) + "const ".length;
    const parts = service.getQuickInfoAtPosition(file, position)?.displayParts ?? [];
    return ts.displayPartsToString([...parts]);
  };
}, 300_000);

it.each(results)("an editor shows the type of %s = %s as %s", (name, _value, type) => {
  expect(hover(name)).toBe(`const ${name}: ${type}`);
});
