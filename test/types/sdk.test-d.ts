import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import type { DocumentTypeDecoration, TypedDocumentNode } from "@graphql-typed-document-node/core";
import * as sdk from "@workspace-tasks/sdk";
import type { DocumentNode } from "graphql";
import { describe, expectTypeOf, it } from "vitest";
import { ClientNamesDocument } from "../../examples/typed-documents/generated/graphql.ts";

declare const client: sdk.WorkspaceTasksClient;

describe("the options of createClient", () => {
  it("require a baseUrl", () => {
    // @ts-expect-error a client without a service is none
    sdk.createClient({ apiKey: "key" });
    // @ts-expect-error a misspelt option is an error
    sdk.createClient({ baseUrl: "https://x", apikey: "key" });
  });
});

// As undici 7 declares its function, as far as the compiler compares them.
interface UndiciResponse {
  readonly status: number;
  readonly headers: {
    readonly get: (name: string) => string | null;
    readonly forEach: (callback: (value: string, key: string, all: unknown) => void, self?: unknown) => void;
  };
  readonly body: NodeReadableStream | null;
  readonly text: () => Promise<string>;
}
interface UndiciInit {
  method?: string;
  headers?: [string, string][] | Record<string, string | readonly string[]> | UndiciResponse["headers"];
  body?:
    | ArrayBuffer
    | AsyncIterable<Uint8Array>
    | Iterable<Uint8Array>
    | NodeJS.ArrayBufferView
    | string
    | null;
  redirect?: "error" | "follow" | "manual";
  signal?: AbortSignal | null;
  dispatcher?: { dispatch(): boolean };
}

describe("the option fetch", () => {
  it("accepts the functions of the platform and of undici without a cast", () => {
    expectTypeOf<typeof globalThis.fetch>().toExtend<sdk.Fetch>();
    expectTypeOf<
      (input: string | URL | { url: string }, init?: UndiciInit) => Promise<UndiciResponse>
    >().toExtend<sdk.Fetch>();
  });

  it("accepts a function that adds a dispatcher, and one for a test", () => {
    const undiciFetch = {} as (input: string | URL, init?: UndiciInit) => Promise<UndiciResponse>;
    const dispatcher = { dispatch: () => true };
    sdk.createClient({
      baseUrl: "https://x",
      fetch: (url, init) => undiciFetch(url, { ...init, dispatcher }),
    });
    sdk.createClient({
      baseUrl: "https://x",
      fetch: (url, init) => globalThis.fetch(new Request(url, init)),
    });
    sdk.createClient({ baseUrl: "https://x", fetch: async () => new Response("{}") });
  });

  it("rejects a function that returns no response, or takes no URL object", () => {
    // @ts-expect-error a text is no response
    sdk.createClient({ baseUrl: "https://x", fetch: async () => "{}" });
    // @ts-expect-error uploads pass a URL object
    sdk.createClient({ baseUrl: "https://x", fetch: (url: string) => globalThis.fetch(url) });
  });
});

describe("results of calls", () => {
  it("are plain values, and withMeta adds the meta data", () => {
    expectTypeOf(client.me).returns.toEqualTypeOf<sdk.Call<sdk.Me>>();
    expectTypeOf(client.me()).resolves.toEqualTypeOf<sdk.Me>();
    expectTypeOf(client.me().withMeta()).resolves.toEqualTypeOf<{
      readonly data: sdk.Me;
      readonly meta: sdk.CallMeta;
    }>();
  });

  it("me can be narrowed by __typename", () => {
    const me = {} as sdk.Me;
    if (me.__typename === "WorkspaceUser") expectTypeOf(me.workspace.id).toBeString();
    else expectTypeOf(me.workspaces).items.toHaveProperty("name");
  });

  it("statuses and roles autocomplete known values and accept unknown ones", () => {
    expectTypeOf<"RUNNING">().toExtend<sdk.TaskStatus>();
    expectTypeOf<string>().toExtend<sdk.TaskStatus>();
    expectTypeOf<string>().toExtend<sdk.WorkspaceRole>();
    expectTypeOf<sdk.Task["subTasks"][number]["status"]>().toEqualTypeOf<sdk.TaskStatus>();
    expectTypeOf<string>().toExtend<sdk.ProviderConnection["status"]>();
    expectTypeOf<string>().toExtend<sdk.ConnectionJob["status"]>();
  });

  it("a task's result can be narrowed by __typename exhaustively", () => {
    const { result } = {} as sdk.Task;
    if (result.__typename === "TaskTaxPrepResult") expectTypeOf(result.taxYear).toBeNumber();
    else expectTypeOf(result.taskType).toBeString();
  });

  it("are readonly", () => {
    const endpoint = {} as sdk.WebhookEndpoint;
    // @ts-expect-error results are not the caller's to change
    endpoint.url = "https://other";
    expectTypeOf<sdk.WebhookEndpoint["eventTypes"]>().toEqualTypeOf<readonly string[] | null>();
    expectTypeOf<sdk.WebhookEndpointSecret["signingSecret"]>().toBeString();
  });
});

describe("lists of the client", () => {
  it("are async iterables of items, with pages and checkpoints", () => {
    const list = client.webhooks.endpoints.list({ limit: 50 });
    expectTypeOf(list).toEqualTypeOf<sdk.PagedList<sdk.WebhookEndpoint, string>>();
    expectTypeOf(list).toExtend<AsyncIterable<sdk.WebhookEndpoint>>();
    expectTypeOf(list.toArray()).resolves.toEqualTypeOf<sdk.WebhookEndpoint[]>();
    expectTypeOf(list.pages().next()).resolves.toEqualTypeOf<
      IteratorResult<sdk.Page<sdk.WebhookEndpoint, string>, void>
    >();
    expectTypeOf(client.tasks.list()).toEqualTypeOf<sdk.PagedList<sdk.Task, number>>();
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
    // @ts-expect-error at least one field is updated
    client.webhooks.endpoints.update("e", {});
    // @ts-expect-error a field that is undefined is not updated
    client.webhooks.endpoints.update("e", { url: undefined });
    // @ts-expect-error a connection has credentials
    client.partner.connections.start({ workspaceId: "w", providerKey: "p" });
    // @ts-expect-error the list has maxItems
    client.tasks.list().toArray({ limit: 10 });
    // @ts-expect-error the wait has deadlineMs
    client.tasks.waitFor("t", { timeout: 10 });
  });
});

/** What graphql-codegen generates for the variables of an operation. */
type Exact<Variables extends { [key: string]: unknown }> = { [Name in keyof Variables]: Variables[Name] };
/** graphql-codegen's document in string mode. */
declare class DocumentString<Result, Variables>
  extends String
  implements DocumentTypeDecoration<Result, Variables>
{
  __apiType?: (variables: Variables) => Result;
  toString(): string & DocumentTypeDecoration<Result, Variables>;
}
interface Result {
  readonly a: number;
}

describe("client.request with a typed document of graphql-codegen, as text or parsed", () => {
  type Typed<Variables> = DocumentString<Result, Variables> | TypedDocumentNode<Result, Variables>;
  const required = {} as Typed<Exact<{ id: string; limit?: number | null | undefined }>>;
  const input = {} as Typed<Exact<{ input: { url: string; eventTypes?: readonly string[] | null } }>>;
  const optional = {} as Typed<Exact<{ limit?: number | null | undefined }>>;
  const none = {} as Typed<Exact<{ [key: string]: never }>>;

  it("infers variables and result", () => {
    expectTypeOf(client.request(required, { id: "x" })).toEqualTypeOf<sdk.Call<Result>>();
    expectTypeOf(client.request(optional)).toEqualTypeOf<sdk.Call<Result>>();
    client.request(required, { id: "x", limit: 1 }, { router: "gateway" });
    client.request(input, { input: { url: "x", eventTypes: ["task.failed"] } });
    client.request(optional, { limit: 1 });
    client.request(none, undefined, { deadlineMs: 1_000 });
    client.request(none, {});
  });

  it("rejects a required variable that is omitted", () => {
    // @ts-expect-error id is missing
    client.request(required);
    // @ts-expect-error id is missing
    client.request(required, {});
    // @ts-expect-error url is missing
    client.request(input, { input: {} });
  });

  it("rejects an unknown variable", () => {
    // @ts-expect-error other is no variable
    client.request(required, { id: "x", other: 1 });
    // @ts-expect-error other is no field of the input
    client.request(input, { input: { url: "x", other: 1 } });
    // @ts-expect-error other is no variable
    client.request(optional, { other: 1 });
    // @ts-expect-error the operation has no variables
    client.request(none, { id: "x" });
  });

  it("rejects a variable of the wrong type and an unknown option", () => {
    // @ts-expect-error id is a string
    client.request(required, { id: 1 });
    // @ts-expect-error a misspelt option
    client.request(required, { id: "x" }, { rooter: "gateway" });
  });
});

describe("client.request with a document of graphql-codegen's client preset", () => {
  it("checks the variables and infers the result", () => {
    const { me } = {} as Awaited<ReturnType<typeof send>>;
    const send = () => client.request(ClientNamesDocument, { limit: 1 });
    if (me?.__typename === "WorkspaceUser") expectTypeOf(me.workspace.clients).items.toHaveProperty("name");
    // @ts-expect-error limit is missing
    client.request(ClientNamesDocument);
  });
});

describe("client.request", () => {
  it("can be wrapped for any typed document", () => {
    const send = <Data, Variables>(
      document: sdk.TypedDocument<Data, Variables>,
      ...args: sdk.RequestArguments<Variables>
    ): sdk.Call<Data> => client.request(document, ...args);
    const document = {} as DocumentString<Result, Exact<{ id: string }>>;
    expectTypeOf(send(document, { id: "x" })).toEqualTypeOf<sdk.Call<Result>>();
    // @ts-expect-error id is missing
    send(document);
  });

  it("accepts any variables with a string and with a parsed document without types", () => {
    expectTypeOf(client.request("{ me { __typename } }")).resolves.toBeUnknown();
    expectTypeOf(client.request("{ ok }", { any: 1 })).resolves.toBeUnknown();
    expectTypeOf(client.request<{ ok: boolean }>("{ ok }")).resolves.toEqualTypeOf<{ ok: boolean }>();
    expectTypeOf(client.request({} as DocumentNode, { any: 1 })).resolves.toBeUnknown();
    expectTypeOf(client.request({} as TypedDocumentNode, { any: 1 })).resolves.toExtend<object>();
    // @ts-expect-error not a document
    client.request({ kind: 1 });
  });
});

describe("error codes", () => {
  it("are a closed union", () => {
    expectTypeOf(sdk.errorCodes).items.toEqualTypeOf<sdk.ErrorCode>();
    expectTypeOf<sdk.WorkspaceTasksError["code"]>().toEqualTypeOf<sdk.ErrorCode>();
    expectTypeOf<sdk.WorkspaceTasksError["outcome"]>().toEqualTypeOf<sdk.Outcome>();
    expectTypeOf<string>().not.toExtend<sdk.ErrorCode>();
    const error: unknown = null;
    if (sdk.isWorkspaceTasksError(error)) expectTypeOf(error).toEqualTypeOf<sdk.WorkspaceTasksError>();
    if (sdk.isWorkspaceTasksError(error, "NOT_FOUND")) {
      expectTypeOf(error).toExtend<sdk.WorkspaceTasksError>();
      expectTypeOf(error.code).toEqualTypeOf<"NOT_FOUND">();
    }
    // @ts-expect-error not a code
    sdk.isWorkspaceTasksError(error, "NOT_THERE");
    if (error instanceof sdk.TaskFailedError) expectTypeOf(error.task).toEqualTypeOf<sdk.Task>();
  });
});
