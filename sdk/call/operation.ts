import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import { operationTable } from "../generated/operation-table.ts";

/** A generated document of one operation, a text or parsed, with its result and variables as types. */
export interface TypedDocument<Result, Variables> extends DocumentTypeDecoration<Result, Variables> {}

export type OperationKind = "query" | "mutation";
export type Router = "base" | "gateway";

/** An operation without its types, as the engine handles it. */
export interface UntypedOperation {
  readonly document: string;
  /** The client's method that sends it, as messages name it. */
  readonly method: string;
  readonly name: string | undefined;
  readonly kind: OperationKind;
  /** The field that the operation asks for, where the SDK ships it. */
  readonly field?: string | undefined;
  readonly router: Router;
  /** False for an operation that needs no token and is not counted against the rate limit. */
  readonly authenticated: boolean;
  /** Whether it may be sent again when it is unknown whether it took effect. Default: true for a query. */
  readonly idempotent?: boolean | undefined;
  /** The data when a repeated call finds nothing: the call before it deleted what this one looks for. */
  readonly dataWhenGone?: unknown;
}

/** An operation ready to be sent: its document is analysed once. */
export interface Operation<Result, Variables>
  extends UntypedOperation,
    DocumentTypeDecoration<Result, Variables> {}

export type OperationName = keyof typeof operationTable;

/** The client's method of each operation. One that several methods send is given its name by them. */
const methods: { readonly [Name in OperationName]: string } = {
  AddClientDocuments: "taxClients.addDocuments",
  AddUsersToTheWorkspace: "partner.workspaces.addUsers",
  CollectProviderConnection: "partner.connections.collect",
  CreateClient: "taxClients.create",
  CreateConnectionJob: "partner.jobs.create",
  CreateJobWorkArtifacts: "partner.works.attachArtifacts",
  CreateJobWorks: "partner.jobs.addWorks",
  CreateWebhookEndpoint: "webhooks.endpoints.create",
  CreateWorkspace: "partner.workspaces.create",
  DeleteWebhookEndpoint: "webhooks.endpoints.delete",
  ExchangeApiKey: "apiKey",
  GetClient: "taxClients.get",
  InitiateTaxPrepsImport: "partner.jobs.startImport",
  ListClientTasks: "taxClients.listTasks",
  ListClients: "taxClients.list",
  ListTasks: "tasks.list",
  ListWebhookEndpoints: "webhooks.endpoints.list",
  LoginPartner: "partnerApiKey",
  Me: "me",
  RotateWebhookEndpointSecret: "webhooks.endpoints.rotateSecret",
  StartProviderConnection: "partner.connections.start",
  TriggerTaxPrep: "taxClients.triggerTaxPrep",
  UpdateWebhookEndpoint: "webhooks.endpoints.update",
  WebhookEventCatalog: "webhooks.catalog",
};

/** The operation of a document under `sdk/operations`. */
export function defineOperation<Result, Variables>(
  name: OperationName,
  document: TypedDocument<Result, Variables> & { toString(): string },
  properties: { readonly idempotent?: true; readonly dataWhenGone?: Result } = {},
): Operation<Result, Variables> {
  return {
    document: document.toString().trim(),
    name,
    method: methods[name],
    ...operationTable[name],
    ...properties,
  };
}
