import type { Router } from "./call/operation.ts";
import { type Call, toCall } from "./engine/call.ts";
import { createDocumentReader, type GraphQLDocument } from "./engine/document.ts";
import { createEngine, type Engine } from "./engine/engine.ts";
import { type Connections, createConnections } from "./operations/connections.ts";
import { createJobs, type Jobs } from "./operations/jobs.ts";
import { fetchMe, type Me } from "./operations/me.ts";
import { createPartnerWorkspaces, type PartnerWorkspaces } from "./operations/partner-workspaces.ts";
import { createTaskPoller } from "./operations/task-poller.ts";
import { createTasks, type Tasks } from "./operations/tasks.ts";
import { createTaxClients, type TaxClients } from "./operations/tax-clients.ts";
import { createWebhooks, type Webhooks } from "./operations/webhooks.ts";
import { createWorks, type Works } from "./operations/works.ts";
import type { CallOptions, CreateClientOptions } from "./options.ts";
import type { RateLimitSnapshot } from "./rate-limit/rate-limiter.ts";
import { createUploads, type Uploads } from "./uploads/uploads.ts";
import { checkInput } from "./validation/check-input.ts";
import { atLeast, flag, oneOf, withDefault } from "./validation/schema.ts";

/** The operations of partners, at `{gateway_url}`. Without a `gatewayUrl` they fail with `CONFIGURATION_INVALID`. @see interface §4 */
export interface Partner {
  /**
   * Asks the gateway who its token acts as: a `User` for a partner's key; compare `__typename`.
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
}

export interface RequestOptions extends CallOptions {
  /** `base` is `{base_url}`, `gateway` is `{gateway_url}`. Default `base`. */
  readonly router?: Router | undefined;
  /** `false` sends no token, for what is public. Default true. */
  readonly authenticated?: boolean | undefined;
}

/** A client of the Workspace Task and Integration Service; safe to share, and to make once per process. */
export interface WorkspaceTasksClient {
  /**
   * Asks who the API key acts as: a `WorkspaceUser`; compare `__typename`.
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
   * Sends any document, typed when it is a typed document, under the same policy as every other call: token, pacing,
   * retries of queries, deadline. For what the real service has and this client has not.
   *
   * The document holds one query or mutation. Errors: `ARGUMENT_INVALID`, `DOCUMENT_INVALID`, and all of the others.
   *
   * @see interface §4
   */
  request<Result = unknown, Variables = Readonly<Record<string, unknown>>>(
    document: GraphQLDocument<Result, Variables>,
    variables?: Variables,
    options?: RequestOptions,
  ): Call<Result>;

  /** A look at the allowance of a router's key; undefined before its first call, and without pacing. @see interface §8 */
  rateLimit(router?: Router): RateLimitSnapshot | undefined;

  /** Refuses new calls, ends waiting ones with `CLIENT_CLOSED`, and resolves when those under way have settled. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Makes a client. Nothing is sent before the first call.
 *
 * Errors: `CONFIGURATION_INVALID`, thrown at once, names the option.
 *
 * @see interface §4, §5
 */
export function createClient(options: CreateClientOptions): WorkspaceTasksClient {
  const engine = createEngine(options);
  const watch = createTaskPoller(engine);
  const { uploads, close: closeUploads } = createUploads(engine);

  async function close(): Promise<void> {
    watch.close();
    closeUploads();
    await engine.close();
  }

  return {
    me: (call) => fetchMe(engine, "base", call),
    webhooks: createWebhooks(engine),
    tasks: createTasks(engine, watch),
    taxClients: createTaxClients(engine),
    uploads,
    partner: {
      me: (call) => fetchMe(engine, "gateway", call),
      workspaces: createPartnerWorkspaces(engine),
      connections: createConnections(engine),
      jobs: createJobs(engine),
      works: createWorks(engine),
    },
    request: createRequest(engine),
    rateLimit: (router) => engine.rateLimitSnapshot(router),
    close,
    [Symbol.asyncDispose]: close,
  };
}

// The options that every call takes are checked by the engine.
const requestInput = atLeast({
  router: withDefault(oneOf("base", "gateway"), "base"),
  authenticated: withDefault(flag, true),
});

function createRequest(engine: Engine): WorkspaceTasksClient["request"] {
  const documents = createDocumentReader();
  return (document, variables, options = {}) => {
    const send = async () => {
      const { router, authenticated, ...call } = checkInput("request", requestInput, options);
      const operation = documents.read(document, router, authenticated);
      return engine.executeWithMeta(operation, variables ?? ({} as NonNullable<typeof variables>), call);
    };
    return toCall(send());
  };
}
