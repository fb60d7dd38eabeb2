import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { describe, expectTypeOf, test } from "vitest";
import {
  type Call,
  type CallMeta,
  type ConnectionJob,
  type CreateClientOptions,
  createClient,
  type ErrorCode,
  errorCodes,
  isWorkspaceTasksError,
  type Me,
  type Outcome,
  type Page,
  type PagedList,
  type ProviderConnection,
  type Task,
  TaskFailedError,
  type TaskStatus,
  type TypedDocument,
  type Upload,
  type UploadBody,
  type WebhookEndpoint,
  type WebhookEndpointSecret,
  type WorkspaceRole,
  type WorkspaceTasksClient,
  type WorkspaceTasksError,
} from "workspace-tasks/sdk";

declare const client: WorkspaceTasksClient;

describe("options", () => {
  test("need a base URL and take a key or a function that fetches one", () => {
    expectTypeOf(createClient).toBeCallableWith({ baseUrl: "https://x", apiKey: "key" });
    expectTypeOf(createClient).toBeCallableWith({ baseUrl: new URL("https://x"), apiKey: async () => "key" });
    expectTypeOf<CreateClientOptions["apiKey"]>().extract<undefined>().not.toBeNever();
    // @ts-expect-error a client without a service is none
    createClient({ apiKey: "key" });
    // @ts-expect-error a misspelt option is an error
    createClient({ baseUrl: "https://x", apikey: "key" });
  });
});

describe("results", () => {
  test("are plain, and calls know their meta data", () => {
    expectTypeOf(client.me).returns.toEqualTypeOf<Call<Me>>();
    expectTypeOf(client.me()).resolves.toEqualTypeOf<Me>();
    expectTypeOf(client.me().withMeta()).resolves.toEqualTypeOf<{
      readonly data: Me;
      readonly meta: CallMeta;
    }>();
  });

  test("me is narrowed by its type name", () => {
    const me = {} as Me;
    if (me.__typename === "WorkspaceUser") expectTypeOf(me.workspace.id).toBeString();
    else expectTypeOf(me.workspaces).items.toHaveProperty("name");
  });

  test("statuses and roles are open: known values complete, unknown ones pass", () => {
    expectTypeOf<"RUNNING">().toExtend<TaskStatus>();
    expectTypeOf<string>().toExtend<TaskStatus>();
    expectTypeOf<string>().toExtend<WorkspaceRole>();
    expectTypeOf<Task["subTasks"][number]["status"]>().toEqualTypeOf<TaskStatus>();
    expectTypeOf<string>().toExtend<ProviderConnection["status"]>();
    expectTypeOf<string>().toExtend<ConnectionJob["status"]>();
  });

  test("a task's result is narrowed by its type name, and nothing is left over", () => {
    const { result } = {} as Task;
    if (result.__typename === "TaskTaxPrepResult") expectTypeOf(result.taxYear).toBeNumber();
    else expectTypeOf(result.taskType).toBeString();
  });

  test("are read-only", () => {
    const endpoint = {} as WebhookEndpoint;
    // @ts-expect-error results are not the caller's to change
    endpoint.url = "https://other";
    expectTypeOf<WebhookEndpoint["eventTypes"]>().toEqualTypeOf<readonly string[] | null>();
    expectTypeOf<WebhookEndpointSecret["signingSecret"]>().toBeString();
  });
});

describe("lists", () => {
  test("are async iterables of items, with pages and checkpoints", () => {
    const list = client.webhooks.endpoints.list({ limit: 50 });
    expectTypeOf(list).toEqualTypeOf<PagedList<WebhookEndpoint, string>>();
    expectTypeOf(list).toExtend<AsyncIterable<WebhookEndpoint>>();
    expectTypeOf(list.toArray()).resolves.toEqualTypeOf<WebhookEndpoint[]>();
    expectTypeOf(list.pages().next()).resolves.toEqualTypeOf<
      IteratorResult<Page<WebhookEndpoint, string>, void>
    >();
    expectTypeOf(client.tasks.list()).toEqualTypeOf<PagedList<Task, number>>();
  });
});

describe("arguments", () => {
  test("are checked by the compiler", () => {
    // @ts-expect-error url is needed
    client.webhooks.endpoints.create({ eventTypes: ["task.failed"] });
    // @ts-expect-error a misspelt field
    client.webhooks.endpoints.update({ endpointId: "e", enable: false });
    // @ts-expect-error a size class that does not exist
    client.partner.workspaces.create({ displayName: "x", firmSize: "xxl" });
    // @ts-expect-error metadata is an object
    client.partner.workspaces.create({ displayName: "x", metadata: "m" });
    // @ts-expect-error no work without an external id
    client.partner.jobs.addWorks("job", [{ name: "n" }]);
    // @ts-expect-error a text is not a body: its encoding is the caller's to choose
    client.uploads.upload("text", { fileName: "a", mimeType: "b" });
    client.webhooks.endpoints.update({ endpointId: "e", description: null, eventTypes: null });
  });

  test("bodies of uploads are bytes in any of their forms", () => {
    expectTypeOf<Uint8Array>().toExtend<UploadBody>();
    expectTypeOf<Buffer>().toExtend<UploadBody>();
    expectTypeOf<Blob>().toExtend<UploadBody>();
    expectTypeOf<ReadableStream<Uint8Array>>().toExtend<UploadBody>();
    expectTypeOf<AsyncGenerator<Buffer>>().toExtend<UploadBody>();
    expectTypeOf(client.uploads.upload).returns.resolves.toEqualTypeOf<Upload>();
  });
});

describe("any document", () => {
  test("gives its own types to variables and result", () => {
    const text = {} as TypedDocument<{ readonly a: number }, { readonly id: string }>;
    expectTypeOf(client.request(text, { id: "x" })).resolves.toEqualTypeOf<{ readonly a: number }>();
    // @ts-expect-error a variable is missing
    client.request(text, {});
    const parsed = {} as TypedDocumentNode<{ readonly b: string }, { readonly n: number }>;
    expectTypeOf(client.request(parsed, { n: 1 })).resolves.toEqualTypeOf<{ readonly b: string }>();
  });

  test("as plain text is unknown until the caller says otherwise", () => {
    expectTypeOf(client.request("{ me { __typename } }")).resolves.toBeUnknown();
    expectTypeOf(client.request<{ ok: boolean }>("{ ok }")).resolves.toEqualTypeOf<{ ok: boolean }>();
  });
});

describe("errors", () => {
  test("are told apart by a closed set of codes", () => {
    expectTypeOf(errorCodes).items.toEqualTypeOf<ErrorCode>();
    expectTypeOf<WorkspaceTasksError["code"]>().toEqualTypeOf<ErrorCode>();
    expectTypeOf<WorkspaceTasksError["outcome"]>().toEqualTypeOf<Outcome>();
    expectTypeOf<string>().not.toExtend<ErrorCode>();
    const error: unknown = null;
    if (isWorkspaceTasksError(error, "NOT_FOUND")) expectTypeOf(error).toEqualTypeOf<WorkspaceTasksError>();
    // @ts-expect-error not a code
    isWorkspaceTasksError(error, "NOT_THERE");
    if (error instanceof TaskFailedError) expectTypeOf(error.task).toEqualTypeOf<Task>();
  });
});

test("a client ends with its scope", () => {
  expectTypeOf<WorkspaceTasksClient>().toExtend<AsyncDisposable>();
});
