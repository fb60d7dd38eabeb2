import { defineOperation } from "../call/operation.ts";
import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type {
  AddClientDocumentsInput,
  ClientFieldsFragment,
  CreateClientInput as CreateTaxClientInput,
  TriggerTaxPrepInput,
} from "../generated/operations.ts";
import {
  AddClientDocumentsDocument,
  CreateClientDocument,
  GetClientDocument,
  ListClientsDocument,
  ListClientTasksDocument,
  TriggerTaxPrepDocument,
} from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import { checkInput, identifier, nonBlank } from "../validation/check-input.ts";
import { atLeast, filledList, list, nullish, only, optional, wholeNumber } from "../validation/schema.ts";
import { workspaceIn } from "./me.ts";
import { createOffsetList, offsetWindow, type PagedList, pageSize } from "./pagination.ts";
import type { Override, PickSelected } from "./selected.ts";
import { readTask, type Task, type TaskStatus, taskStatus } from "./task.ts";

export type { AddClientDocumentsInput, CreateTaxClientInput, TriggerTaxPrepInput };

/** One client of the tax firm. Beyond the interface (documented). */
export type TaxClient = PickSelected<schema.Client, ClientFieldsFragment>;
/** `taskId` is the `BINDER` task; `null` when no `uploadIds` were given. */
export type CreateTaxClientResult = Override<schema.CreateClientResult, { readonly client: TaxClient }>;
export type StartedTask = schema.StartedTask;

export interface ListTaxClientsOptions {
  /** TaxClients to skip. Default 0. */
  readonly offset?: number | undefined;
  /** TaxClients per page, 1 to 100. Default 20. */
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

/** The clients of the tax firm. All of it lies beyond the interface. @see interface §1 */
export interface TaxClients {
  /**
   * Adds a client; with `uploadIds` a `BINDER` task starts on those documents.
   *
   * `externalId` is unique in the workspace, which makes a repetition safe: `CONFLICT` says that the client is there.
   * Errors: `CONFLICT`, `INPUT_INVALID`, `NOT_FOUND` for an unknown upload, `PERMISSION_DENIED`. Beyond the interface
   * (documented; which fields are required is assumed).
   */
  create(input: CreateTaxClientInput, call?: CallOptions): Call<CreateTaxClientResult>;

  /**
   * Adds uploaded documents to a client and starts a `BINDER` task on them.
   *
   * Errors: `NOT_FOUND`, `PERMISSION_DENIED`. Not idempotent: each call starts a task. Beyond the interface (documented).
   */
  addDocuments(input: AddClientDocumentsInput, call?: CallOptions): Call<StartedTask>;

  /**
   * Starts a `TAX_PREP` task; `returnType` must equal the client's, for example `F1040`.
   *
   * Errors: `NOT_FOUND`, `INPUT_INVALID`, `PERMISSION_DENIED`. Not idempotent: each call starts a task; after an error
   * with outcome `unknown` look with `taxClients.listTasks` first. Beyond the interface (documented).
   */
  triggerTaxPrep(input: TriggerTaxPrepInput, call?: CallOptions): Call<StartedTask>;

  /** Lists the clients, newest first, fetched while the list is read. Beyond the interface (assumed). */
  list(options?: ListTaxClientsOptions, call?: CallOptions): PagedList<TaxClient, number>;

  /** Reads one client. Errors: `NOT_FOUND`. Beyond the interface (assumed). */
  get(clientId: string, call?: CallOptions): Call<TaxClient>;

  /** Lists tasks of one client, newest first. Errors: `NOT_FOUND`. Beyond the interface (documented). */
  listTasks(clientId: string, options?: ListTaxClientTasksOptions, call?: CallOptions): Call<readonly Task[]>;
}

const listClientsOperation = defineOperation("ListClients", ListClientsDocument);
const getClientOperation = defineOperation("GetClient", GetClientDocument);
const listClientTasksOperation = defineOperation("ListClientTasks", ListClientTasksDocument);
const createClientOperation = defineOperation("CreateClient", CreateClientDocument);
const addClientDocumentsOperation = defineOperation("AddClientDocuments", AddClientDocumentsDocument);
const triggerTaxPrepOperation = defineOperation("TriggerTaxPrep", TriggerTaxPrepDocument);

const createTaxClientInput = atLeast({
  name: nonBlank,
  externalId: identifier,
  returnType: identifier,
  taxYear: wholeNumber,
  uploadIds: nullish(list(identifier)),
});

const addDocumentsInput = atLeast({ clientId: identifier, uploadIds: filledList(identifier) });

const triggerTaxPrepInput = atLeast({ clientId: identifier, returnType: identifier });

const listTaxClientsInput = only(offsetWindow);

const listTasksInput = only({
  type: optional(identifier),
  status: optional(taskStatus),
  triggeredBy: optional(identifier),
  limit: optional(pageSize),
});

export function createTaxClients(engine: Engine): TaxClients {
  return {
    create: (input, call) =>
      startCall(
        engine,
        {
          operation: createClientOperation,
          variables: () => ({ input: checkInput("taxClients.create", createTaxClientInput, input) }),
          result: (data) => data.createClient,
        },
        call,
      ),

    addDocuments: (input, call) =>
      startCall(
        engine,
        {
          operation: addClientDocumentsOperation,
          variables: () => ({ input: checkInput("taxClients.addDocuments", addDocumentsInput, input) }),
          result: (data) => data.addClientDocuments,
        },
        call,
      ),

    triggerTaxPrep: (input, call) =>
      startCall(
        engine,
        {
          operation: triggerTaxPrepOperation,
          variables: () => ({ input: checkInput("taxClients.triggerTaxPrep", triggerTaxPrepInput, input) }),
          result: (data) => data.triggerTaxPrep,
        },
        call,
      ),

    list(options = {}, call) {
      const start = checkInput("taxClients.list", listTaxClientsInput, options);
      return createOffsetList(async (offset, limit) => {
        const { data, meta } = await engine.executeWithMeta(listClientsOperation, { offset, limit }, call);
        return { items: workspaceIn(data).clients, meta };
      }, start);
    },

    get: (clientId, call) =>
      startCall(
        engine,
        {
          operation: getClientOperation,
          variables: () => ({ id: checkInput("taxClients.get", identifier, clientId) }),
          result: (data) => workspaceIn(data).client ?? notFound(),
        },
        call,
      ),

    listTasks: (clientId, options = {}, call) =>
      startCall(
        engine,
        {
          operation: listClientTasksOperation,
          variables: () => ({
            id: checkInput("taxClients.listTasks", identifier, clientId),
            ...checkInput("taxClients.listTasks", listTasksInput, options),
          }),
          result: (data) => (workspaceIn(data).client ?? notFound()).tasks.map(readTask),
        },
        call,
      ),
  };
}

function notFound(): never {
  throw new WorkspaceTasksError("NOT_FOUND", "the workspace has no client with this id", {
    outcome: "rejected",
  });
}
