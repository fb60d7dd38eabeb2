import * as s from "@workspace-tasks/kernel/schema.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Send } from "../engine/engine.ts";
import type * as generated from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import {
  createOffsetList,
  createPagedList,
  itemsIn,
  offsetInput,
  type PagedList,
  pageSize,
} from "./pagination.ts";
import { readTask, type Task, type TaskStatus, taskStatus } from "./tasks.ts";
import { notFound, type Override, type PickSelected, workspaceIn } from "./workspaces.ts";

export type CreateTaxClientInput = generated.CreateClientInput;
export interface AddClientDocumentsInput extends Omit<generated.AddClientDocumentsInput, "clientId"> {}
export interface TriggerTaxPrepInput extends Omit<generated.TriggerTaxPrepInput, "clientId"> {}

/** One client of the tax firm. Beyond the interface (documented). */
export interface TaxClient extends PickSelected<schema.Client, generated.ClientFieldsFragment> {}
/** `taskId` is the `BINDER` task; `null` when no `uploadIds` were given. */
export interface CreateTaxClientResult
  extends Override<schema.CreateClientResult, { readonly client: TaxClient }> {}
export interface StartedTask extends schema.StartedTask {}

export interface ListTaxClientsOptions {
  /** Clients to skip. Default 0. */
  readonly offset?: number | undefined;
  /** Clients per page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
}

export interface ListTaxClientTasksOptions {
  readonly type?: string | undefined;
  readonly status?: TaskStatus | undefined;
  /** Id of the user who started the task. */
  readonly triggeredBy?: string | undefined;
  /** 1 to 100. Default: the service's. */
  readonly limit?: number | undefined;
}

/** The clients of the tax firm. All of it is beyond the interface. @see interface §1 */
export interface TaxClients {
  /**
   * Adds a client; with `uploadIds` a `BINDER` task starts on those documents.
   *
   * `externalId` is unique in the workspace, which makes it safe to repeat: `CONFLICT` means that the client exists.
   * Errors: `CONFLICT`, `INPUT_INVALID`, `NOT_FOUND` for an unknown upload, `PERMISSION_DENIED`. Beyond the interface
   * (documented; which fields are required is assumed).
   */
  create(input: CreateTaxClientInput, call?: CallOptions): Call<CreateTaxClientResult>;

  /**
   * Adds uploaded documents to a client and starts a `BINDER` task on them.
   *
   * Errors: `NOT_FOUND`, `PERMISSION_DENIED`. Not idempotent: each call starts a task. Beyond the interface (documented).
   */
  addDocuments(clientId: string, input: AddClientDocumentsInput, call?: CallOptions): Call<StartedTask>;

  /**
   * Starts a `TAX_PREP` task; `returnType` must equal the client's, for example `F1040`.
   *
   * Errors: `NOT_FOUND`, `INPUT_INVALID`, `PERMISSION_DENIED`. Not idempotent: each call starts a task; after an error
   * with outcome `unknown` check `taxClients.listTasks` first. Beyond the interface (documented).
   */
  triggerTaxPrep(clientId: string, input: TriggerTaxPrepInput, call?: CallOptions): Call<StartedTask>;

  /**
   * Lists the clients, newest first, fetched while the list is read. Each client is listed once. Errors:
   * `ARGUMENT_INVALID`, `PAGINATION_STALLED`. Beyond the interface (assumed).
   */
  list(options?: ListTaxClientsOptions, call?: CallOptions): PagedList<TaxClient, number>;

  /** Fetches one client. Errors: `NOT_FOUND`. Beyond the interface (assumed). */
  get(clientId: string, call?: CallOptions): Call<TaxClient>;

  /**
   * Lists tasks of one client, newest first, in one page: the service has no offset here. `tasks.list` with `clientIds`
   * lists all of them. Errors: `NOT_FOUND`. Beyond the interface (documented).
   */
  listTasks(
    clientId: string,
    options?: ListTaxClientTasksOptions,
    call?: CallOptions,
  ): PagedList<Task, never>;
}

const createClient = defineOperation("CreateClient", "taxClients.create");
const addDocuments = defineOperation("AddClientDocuments", "taxClients.addDocuments");
const triggerTaxPrep = defineOperation("TriggerTaxPrep", "taxClients.triggerTaxPrep");
const listClients = defineOperation("ListClients", "taxClients.list");
const getClient = defineOperation("GetClient", "taxClients.get");
const listClientTasks = defineOperation("ListClientTasks", "taxClients.listTasks");

// Fields that the interface does not show are passed on.
const createInput = s.looseObject({
  name: s.nonBlankString,
  externalId: s.nonEmptyString,
  returnType: s.nonEmptyString,
  taxYear: s.integer,
  uploadIds: s.nullish(s.array(s.nonEmptyString)),
});
const addDocumentsInput = s.looseObject({
  clientId: s.nonEmptyString,
  uploadIds: s.nonEmptyArray(s.nonEmptyString),
});
const triggerTaxPrepInput = s.looseObject({ clientId: s.nonEmptyString, returnType: s.nonEmptyString });

const listInput = s.strictObject(offsetInput);
const listTasksInput = s.strictObject({
  type: s.optional(s.nonEmptyString),
  status: s.optional(taskStatus),
  triggeredBy: s.optional(s.nonEmptyString),
  limit: s.optional(pageSize),
});

export function createTaxClients(send: Send): TaxClients {
  return {
    create: (input, call) => send(createClient, (check) => ({ input: check(createInput, input) }), call),

    addDocuments: (clientId, input, call) =>
      send(addDocuments, (check) => ({ input: check(addDocumentsInput, { ...input, clientId }) }), call),

    triggerTaxPrep: (clientId, input, call) =>
      send(triggerTaxPrep, (check) => ({ input: check(triggerTaxPrepInput, { ...input, clientId }) }), call),

    list: (options = {}, call) =>
      createOffsetList("taxClients.list", (check) => ({
        ...check(listInput, options),
        fetchItems: (offset, limit) =>
          send(listClients, { offset, limit }, call, (data) => itemsIn(workspaceIn(data).clients)).withMeta(),
      })),

    get: (clientId, call) =>
      send(
        getClient,
        (check) => ({ id: check(s.nonEmptyString, clientId) }),
        call,
        (data) => workspaceIn(data).client ?? notFound("client"),
      ),

    listTasks: (clientId, options = {}, call) =>
      createPagedList<Task, never>("taxClients.listTasks", (check) => {
        const id = check(s.nonEmptyString, clientId);
        const filters = check(listTasksInput, options);
        const fetchPage = async () => {
          const { data, meta } = await send(listClientTasks, { id, ...filters }, call, (found) =>
            itemsIn((workspaceIn(found).client ?? notFound("client")).tasks).map(readTask),
          ).withMeta();
          return { items: data, next: null, meta };
        };
        return { start: null, fetchPage };
      }),
  };
}
