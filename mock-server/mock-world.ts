/// <reference lib="esnext.disposable" preserve="true" />

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { asyncDispose, dispose } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { checkJson, checkOptions } from "./checks.ts";
import { type ControlApi, createControlApi, createExpectations } from "./control/control-api.ts";
import type { DeliveryFilter, DeliverySummary, ExpectedDeliveries } from "./control/deliveries.ts";
import { createEventStream } from "./control/event-stream.ts";
import type { ExpectedRequests, RecordedRequest, RequestFilter } from "./control/requests.ts";
import type { WorldDirectory, WorldView } from "./control/worlds.ts";
import { MockServerError } from "./errors.ts";
import { checkOverride } from "./graphql/checks.ts";
import { createHandler, type Service } from "./http/router.ts";
import type { Transport } from "./outbound.ts";
import { seedWorld } from "./rules/seeding.ts";
import type { Settings } from "./settings/settings.ts";
import type { FaultPlan } from "./state/fault.ts";
import type { OverrideOptions } from "./state/override.ts";
import { isoTime } from "./time/duration.ts";
import { realClock } from "./time/real-clock.ts";
import type { VirtualClock } from "./time/virtual-clock.ts";
import {
  checkResponse,
  isOverrideResponse,
  type OverrideFunction,
  type OverrideResponse,
} from "./world/override-store.ts";
import type { Hashing } from "./world/random.ts";
import type { NumberedActivity } from "./world/world.ts";
import {
  createWorldClock,
  createWorldHolder,
  type MockClock,
  type WorldHolder,
} from "./world/world-holder.ts";

/** The name of the mock's own world; it has no prefix and cannot be dropped. */
export const mainWorld = "main";

/** A world of a mock: its URLs, keys, clock and control API. Nothing in it is shared with other worlds. */
export interface MockWorld extends AsyncDisposable {
  /** `main` for the mock's own world. */
  readonly name: string;
  /** Operations at `/graphql`, uploads at `/api/uploads`. */
  readonly baseUrl: string;
  /** Partner operations at `/graphql` below it. */
  readonly gatewayUrl: string;
  readonly inspectorUrl: string;
  /** An administrator's `read_write` key of the first workspace. */
  readonly apiKey: string;
  /** A key of the partner who created the first workspace. */
  readonly partnerApiKey: string;
  readonly workspaceId: string;
  /** Calls the service in this process, without a socket. Accepts paths such as `/graphql` too. */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>;
  readonly clock: MockClock;
  /** The control API, without HTTP. */
  readonly control: ControlApi;
  /**
   * Responds to an operation in place of the service: with data, a patch of the real response, errors, or what a
   * function returns. The newest matching override counts; a reset removes all.
   *
   * @example examples/mock-overrides.test.ts#override
   * ```ts
   * // Part of the real response, once; invalid, because the schema has no role "owner".
   * mock.override("me", { patch: { role: "owner" } }, { times: 1, invalid: true });
   * expect(await client.me()).toMatchObject({ role: "owner" });
   *
   * // A function sees the request, and can run the operation.
   * const override = mock.override("me", async ({ original, count }) => {
   *   if (count === 1) return { errors: [{ message: "Unauthorized", code: "FORBIDDEN" }] };
   *   return { data: await original() };
   * });
   * await expect(client.me()).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
   * expect(await client.me()).toMatchObject({ role: "admin" });
   * expect(override.calls).toBe(2);
   * override.remove();
   * ```
   */
  override(
    operation: string,
    respond: OverrideResponse | OverrideFunction,
    options?: OverrideOptions,
  ): OverrideHandle;
  /**
   * Resolves with the first matching request, and waits a second for it unless `timeoutMs` says otherwise. Rejects with
   * WAIT_TIMED_OUT and the nearest requests.
   *
   * @example examples/mock-assertions.test.ts#expect-request
   * ```ts
   * await client.taxClients.create(input);
   * const { sequence } = await mock.expectRequest({
   *   operation: "createClient",
   *   variables: { input: { name: "Ada" } },
   *   status: 200,
   *   times: 1,
   * });
   * await mock.expectNoRequest({ operation: "createClient", after: sequence });
   * ```
   */
  expectRequest(expected?: ExpectedRequests): Promise<RecordedRequest>;
  /** Does for deliveries what `expectRequest` does for requests. */
  expectDelivery(expected?: ExpectedDeliveries): Promise<DeliverySummary>;
  /** Rejects with WAIT_TIMED_OUT when there is a matching request. */
  expectNoRequest(expected?: RequestFilter): Promise<void>;
  /** Rejects with WAIT_TIMED_OUT when there is a matching delivery. */
  expectNoDelivery(expected?: DeliveryFilter): Promise<void>;
  /** Calls `listener` with all activity from now on, also after a reset. Returns a function that stops it. */
  subscribe(listener: (activity: NumberedActivity) => void): () => void;
  /** Drops the world, or stops the mock, and resolves then. Waits and later calls reject with MOCK_CLOSED. Idempotent. */
  close(): Promise<void>;
}

export interface WorldSetup {
  /** `null` for the mock's own world. */
  readonly name: string | null;
  readonly seed: number;
  readonly clock: Clock | VirtualClock;
  readonly settings: Settings;
  readonly faults: FaultPlan | undefined;
  readonly transport: Transport;
  readonly hashing: Hashing;
  readonly pageFiles: Service["pageFiles"];
  readonly version: string;
  /** The other worlds, for the mock's own. */
  readonly named: ReadonlyMap<string, Service>;
  readonly directory: WorldDirectory | null;
}

/** A world that is served. */
export interface HostedWorld {
  readonly setup: WorldSetup;
  readonly service: Service;
  readonly worlds: WorldHolder;
  view(origin: string): WorldView;
  /** Ends it without a successor: its timers, deliveries, waits and streams. */
  end(): void;
}

export function hostWorld(setup: WorldSetup): HostedWorld {
  const { name, clock, settings, transport, hashing, pageFiles, version, directory, named } = setup;
  const worlds = createWorldHolder({
    name,
    seed: setup.seed,
    clock,
    settings,
    transport,
    hashing,
    seedWorld(world) {
      if (setup.faults) world.faults.replace(setup.faults);
      return seedWorld(world);
    },
  });
  const stream = createEventStream(worlds, realClock);
  const service: Service = {
    worlds,
    named,
    find: (wanted) => (wanted === (name ?? mainWorld) ? service : (named.get(wanted) ?? null)),
    context: { worlds, clock, version, directory },
    stream,
    pageFiles,
  };
  return {
    setup,
    service,
    worlds,
    view: (origin) => ({
      name: name ?? mainWorld,
      ...urlsOf(origin, name),
      apiKey: worlds.seedData.apiKey,
      partnerApiKey: worlds.seedData.partnerApiKey,
      workspaceId: worlds.seedData.workspaceId,
      seed: worlds.current.random.seed,
      clock: "advance" in clock ? "virtual" : "real",
      now: isoTime(clock.now()),
    }),
    end() {
      stream.close();
      worlds.end();
    },
  };
}

/** The object that tests use. */
export function toMockWorld(
  { setup, service, worlds }: HostedWorld,
  origin: string,
  close: () => Promise<void>,
): MockWorld {
  const { name, clock } = setup;
  const urls = urlsOf(origin, name);
  const handler = createHandler(service);
  const worldClock = createWorldClock(worlds, clock);
  let control: ControlApi | undefined;
  const getControl = () => {
    control ??= createControlApi(service.context);
    return control;
  };
  return {
    name: name ?? mainWorld,
    ...urls,
    get apiKey() {
      return worlds.seedData.apiKey;
    },
    get partnerApiKey() {
      return worlds.seedData.partnerApiKey;
    },
    get workspaceId() {
      return worlds.seedData.workspaceId;
    },
    fetch: (input, init) => handler(new Request(resolveInput(input, urls.baseUrl), init)),
    clock: worldClock,
    get control() {
      return getControl();
    },
    override: createOverride(worlds),
    ...createExpectations(getControl),
    subscribe: worlds.subscribe,
    close,
    [asyncDispose]: close,
  };
}

/** A path is below the world's own URL. */
function resolveInput(input: Request | URL | string, baseUrl: string): Request | URL | string {
  return typeof input === "string" && input.startsWith("/") ? `${baseUrl}${input}` : input;
}

function urlsOf(origin: string, name: string | null) {
  const baseUrl = name === null ? origin : `${origin}/w/${name}`;
  return { baseUrl, gatewayUrl: `${baseUrl}/gateway`, inspectorUrl: `${baseUrl}/_mock/` };
}

export interface OverrideHandle extends Disposable {
  readonly id: string;
  /** Requests that it has responded to. */
  readonly calls: number;
  /** Removes the override. Idempotent. */
  remove(): void;
}

const overrideOptions = s.strictOptions<OverrideOptions>()({
  router: s.optional(s.oneOf("base", "gateway")),
  keyId: s.optional(s.string),
  workspaceId: s.optional(s.string),
  variables: s.optional(s.object),
  times: s.optional(s.positiveInteger),
  invalid: s.optional(s.boolean),
});

const caller = "override";

/** `mock.override` of a world. */
const createOverride =
  (worlds: WorldHolder) =>
  (
    operation: string,
    respond: OverrideResponse | OverrideFunction,
    options: OverrideOptions = {},
  ): OverrideHandle => {
    checkOptions(caller, options, overrideOptions);
    if (typeof respond !== "function" && !isOverrideResponse(respond)) {
      throw new MockServerError(
        "CONFIGURATION_INVALID",
        `${caller}: expected a function, { data }, { patch } or { errors } as the response`,
      );
    }
    checkJson(caller, options);
    if (typeof respond !== "function") checkResponse(caller, respond);
    const world = worlds.current;
    checkOverride(world, operation, typeof respond === "function" ? {} : respond, options);
    const { overrides } = world;
    const override = overrides.add({ ...options, operation, respond });
    const remove = () => void overrides.remove(override.id);
    return {
      id: override.id,
      get calls() {
        return override.calls;
      },
      remove,
      [dispose]: remove,
    };
  };
