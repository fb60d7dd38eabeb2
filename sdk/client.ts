/// <reference lib="esnext.disposable" preserve="true" />

import { asyncDispose } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { nodeProblem } from "@workspace-tasks/kernel/version.ts";
import type { Router } from "./call/operation.ts";
import { createDocumentReader, type GraphQLDocument } from "./engine/document.ts";
import { type Call, createEngine, type Engine, toCall } from "./engine/engine.ts";
import { WorkspaceTasksError } from "./errors.ts";
import { createImports, type Imports } from "./imports/imports.ts";
import {
  type Connections,
  createConnections,
  createJobs,
  createWorks,
  type Jobs,
  type Works,
} from "./operations/jobs.ts";
import { createTasks, type Tasks } from "./operations/tasks.ts";
import { createTaxClients, type TaxClients } from "./operations/tax-clients.ts";
import { createWebhooks, type Webhooks } from "./operations/webhooks.ts";
import {
  createPartnerWorkspaces,
  fetchMe,
  type Me,
  type PartnerWorkspaces,
} from "./operations/workspaces.ts";
import {
  type CallOptions,
  type CreateClientOptions,
  callHints,
  callOptions,
  resolveOptions,
} from "./options.ts";
import type { RateLimitSnapshot } from "./rate-limit/rate-limiter.ts";
import { createUploads, type Uploads } from "./uploads/uploads.ts";
import { checkInput } from "./validation.ts";

/** The operations of partners, at `{gateway_url}`. Without a `gatewayUrl` they fail with `CONFIGURATION_INVALID`. @see interface §4 */
export interface Partner {
  /**
   * Fetches who the gateway's token acts as: a `User` for a partner's key; compare `__typename`.
   *
   * Errors: `API_KEY_REJECTED`, `CONFIGURATION_INVALID`. That the gateway serves `me` too is an assumption.
   *
   * @see interface §4
   */
  me(call?: CallOptions): Call<Me>;
  readonly workspaces: PartnerWorkspaces;
  readonly connections: Connections;
  readonly jobs: Jobs;
  readonly works: Works;
  readonly imports: Imports;
}

export interface RequestOptions extends CallOptions {
  /** `base` is `{base_url}`, `gateway` is `{gateway_url}`. Default `base`. */
  readonly router?: Router | undefined;
  /** `false` sends no token, for public operations. Default true. */
  readonly authenticated?: boolean | undefined;
}

/** What follows the document of `client.request`: its variables, required when one of them is, and options. */
export type RequestArguments<Variables> =
  Record<string, never> extends Variables
    ? [variables?: Variables | undefined, options?: RequestOptions | undefined]
    : [variables: Variables, options?: RequestOptions | undefined];

// The document alone decides what its variables are. `NoInfer` says the same, from TypeScript 5.4 on.
type NotInferred<Type> = [Type][Type extends unknown ? 0 : never];

/** A client of the Workspace Task and Integration Service. Create one per process; it can be shared. */
export interface WorkspaceTasksClient {
  /**
   * Fetches who the API key acts as: a `WorkspaceUser`; compare `__typename`.
   *
   * Errors: `API_KEY_REJECTED`.
   *
   * @see interface §4
   */
  me(call?: CallOptions): Call<Me>;
  readonly webhooks: Webhooks;
  readonly tasks: Tasks;
  readonly taxClients: TaxClients;
  readonly uploads: Uploads;
  readonly partner: Partner;

  /**
   * Sends any document under the same policy as every other call: token, rate limit, retries of queries, deadline. For
   * operations of the service that this client does not have.
   *
   * The document holds one query or mutation. A typed document checks its variables, which may be omitted when none is
   * required. Errors: `ARGUMENT_INVALID`, `DOCUMENT_INVALID`, and all of the others.
   *
   * @see interface §4
   */
  request<Result = unknown, Variables = Readonly<Record<string, unknown>>>(
    document: GraphQLDocument<Result, Variables>,
    ...args: RequestArguments<NotInferred<Variables>>
  ): Call<Result>;

  /** The rate limit of a router's key; undefined before its first call, and without rate limiting. @see interface §8 */
  rateLimit(router?: Router): RateLimitSnapshot | undefined;

  /**
   * Rejects new calls, ends waiting ones with `CLIENT_CLOSED`, and resolves when those in flight have settled. Takes the
   * client's `timeoutMs` at most, after which calls in flight end with `CLIENT_CLOSED`.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a client. Nothing is sent before the first call. Guide: `docs/sdk.md` in the package.
 *
 * Errors: `CONFIGURATION_INVALID`, thrown at once, names the option.
 *
 * @example examples/sdk.test.ts#create-client
 * ```ts
 * const client = createClient({ baseUrl, apiKey: () => readSecret("workspace-tasks-api-key") });
 * const me = await client.me();
 * ```
 *
 * @see interface §4, §5
 */
export function createClient(options: CreateClientOptions): WorkspaceTasksClient {
  const problem = nodeProblem();
  if (problem) throw new WorkspaceTasksError("CONFIGURATION_INVALID", `createClient: ${problem}`);
  const resolved = resolveOptions(options);
  rejectBrowser(resolved.dangerouslyAllowBrowser);
  const engine = createEngine(resolved);
  const { send, close } = engine;
  const me = (call?: CallOptions) => fetchMe(send, "base", call);
  const tasks = createTasks(engine, resolved);
  const taxClients = createTaxClients(send);
  const uploads = createUploads(engine, resolved);
  const jobs = createJobs(send);
  const works = createWorks(send);
  return {
    me,
    webhooks: createWebhooks(engine, resolved),
    tasks,
    taxClients,
    uploads,
    partner: {
      me: (call) => fetchMe(send, "gateway", call),
      workspaces: createPartnerWorkspaces(send),
      connections: createConnections(send),
      jobs,
      works,
      imports: createImports({ ...resolved, engine, jobs, works, uploads, taxClients, tasks, me }),
    },
    request: createRequest(engine),
    rateLimit: (router) => engine.rateLimitSnapshot(checkInput("rateLimit", routerInput, router)),
    close,
    [asyncDispose]: close,
  };
}

const routerInput = s.optional(s.oneOf("base", "gateway"));
const requestInput = s.strictObject(
  { ...callOptions, router: routerInput, authenticated: s.optional(s.boolean) },
  callHints,
);

function createRequest(engine: Engine): WorkspaceTasksClient["request"] {
  const documents = createDocumentReader();
  return (document, ...[variables, options]) => {
    const run = async () => {
      const checked = options === undefined ? undefined : checkInput("request", requestInput, options);
      const { router = "base", authenticated = true } = checked ?? {};
      const operation = documents.read(document, router, authenticated);
      return engine.execute(operation, variables ?? ({} as NonNullable<typeof variables>), checked);
    };
    return toCall(run());
  };
}

/**
 * Throws in a browser: every visitor of a page can read the key it uses (interface §5: keys must not be exposed to
 * browser or mobile code). A page is recognised by its document, a web worker by `importScripts` and its location: workerd
 * with a compatibility date before 2024-03-04 has the function too.
 */
function rejectBrowser(dangerouslyAllowBrowser: boolean): void {
  const { window, importScripts, location } = globalThis as {
    window?: { document?: unknown };
    importScripts?: unknown;
    location?: unknown;
  };
  const isWebWorker = typeof importScripts === "function" && location !== undefined;
  const isBrowser = window?.document !== undefined || isWebWorker;
  if (dangerouslyAllowBrowser || !isBrowser) return;
  throw new WorkspaceTasksError(
    "CONFIGURATION_INVALID",
    "createClient: expected a server, got a browser, where every visitor could read the key; " +
      "dangerouslyAllowBrowser switches this check off",
  );
}
