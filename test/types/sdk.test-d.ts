import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { describe, expectTypeOf, it } from "vitest";
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

describe("the options of createClient", () => {
  it("require a baseUrl and accept a key or a function that returns one", () => {
    expectTypeOf(createClient).toBeCallableWith({ baseUrl: "https://x", apiKey: "key" });
    expectTypeOf(createClient).toBeCallableWith({ baseUrl: new URL("https://x"), apiKey: async () => "key" });
    expectTypeOf<CreateClientOptions["apiKey"]>().extract<undefined>().not.toBeNever();
    // @ts-expect-error a client without a service is none
    createClient({ apiKey: "key" });
    // @ts-expect-error a misspelt option is an error
    createClient({ baseUrl: "https://x", apikey: "key" });
  });
});

describe("results of calls", () => {
  it("are plain values, and withMeta adds the meta data", () => {
    expectTypeOf(client.me).returns.toEqualTypeOf<Call<Me>>();
    expectTypeOf(client.me()).resolves.toEqualTypeOf<Me>();
    expectTypeOf(client.me().withMeta()).resolves.toEqualTypeOf<{
      readonly data: Me;
      readonly meta: CallMeta;
    }>();
  });

  it("me can be narrowed by __typename", () => {
    const me = {} as Me;
    if (me.__typename === "WorkspaceUser") expectTypeOf(me.workspace.id).toBeString();
    else expectTypeOf(me.workspaces).items.toHaveProperty("name");
  });

  it("statuses and roles autocomplete known values and accept unknown ones", () => {
    expectTypeOf<"RUNNING">().toExtend<TaskStatus>();
    expectTypeOf<string>().toExtend<TaskStatus>();
    expectTypeOf<string>().toExtend<WorkspaceRole>();
    expectTypeOf<Task["subTasks"][number]["status"]>().toEqualTypeOf<TaskStatus>();
    expectTypeOf<string>().toExtend<ProviderConnection["status"]>();
    expectTypeOf<string>().toExtend<ConnectionJob["status"]>();
  });

  it("a task's result can be narrowed by __typename exhaustively", () => {
    const { result } = {} as Task;
    if (result.__typename === "TaskTaxPrepResult") expectTypeOf(result.taxYear).toBeNumber();
    else expectTypeOf(result.taskType).toBeString();
  });

  it("are readonly", () => {
    const endpoint = {} as WebhookEndpoint;
    // @ts-expect-error results are not the caller's to change
    endpoint.url = "https://other";
    expectTypeOf<WebhookEndpoint["eventTypes"]>().toEqualTypeOf<readonly string[] | null>();
    expectTypeOf<WebhookEndpointSecret["signingSecret"]>().toBeString();
  });
});

describe("lists of the client", () => {
  it("are async iterables of items, with pages and checkpoints", () => {
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

describe("arguments of calls", () => {
  it("are checked by the compiler", () => {
    // @ts-expect-error url is needed
    client.webhooks.endpoints.create({ eventTypes: ["task.failed"] });
    // @ts-expect-error a misspelt field
    client.webhooks.endpoints.update("e", { enable: false });
    // @ts-expect-error a size class that does not exist
    client.partner.workspaces.create({ displayName: "x", firmSize: "xxl" });
    // @ts-expect-error metadata is an object
    client.partner.workspaces.create({ displayName: "x", metadata: "m" });
    // @ts-expect-error no work without an external id
    client.partner.jobs.addWorks("job", [{ name: "n" }]);
    // @ts-expect-error a text is not a body: its encoding is the caller's to choose
    client.uploads.upload("text", { fileName: "a", mimeType: "b" });
    client.webhooks.endpoints.update("e", { description: null, eventTypes: null });
  });

  it("an upload accepts bytes in every form", () => {
    expectTypeOf<Uint8Array>().toExtend<UploadBody>();
    expectTypeOf<Buffer>().toExtend<UploadBody>();
    expectTypeOf<Blob>().toExtend<UploadBody>();
    expectTypeOf<ReadableStream<Uint8Array>>().toExtend<UploadBody>();
    expectTypeOf<AsyncGenerator<Buffer>>().toExtend<UploadBody>();
    expectTypeOf(client.uploads.upload).returns.resolves.toEqualTypeOf<Upload>();
  });
});

describe("client.request", () => {
  it("infers the types of variables and result from a typed document", () => {
    const text = {} as TypedDocument<{ readonly a: number }, { readonly id: string }>;
    expectTypeOf(client.request(text, { id: "x" })).resolves.toEqualTypeOf<{ readonly a: number }>();
    // @ts-expect-error a variable is missing
    client.request(text, {});
    const parsed = {} as TypedDocumentNode<{ readonly b: string }, { readonly n: number }>;
    expectTypeOf(client.request(parsed, { n: 1 })).resolves.toEqualTypeOf<{ readonly b: string }>();
  });

  it("returns unknown for a plain string unless the caller gives a type", () => {
    expectTypeOf(client.request("{ me { __typename } }")).resolves.toBeUnknown();
    expectTypeOf(client.request<{ ok: boolean }>("{ ok }")).resolves.toEqualTypeOf<{ ok: boolean }>();
  });
});

describe("error codes", () => {
  it("are a closed union", () => {
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

it("a client can be declared with await using", () => {
  expectTypeOf<WorkspaceTasksClient>().toExtend<AsyncDisposable>();
});
