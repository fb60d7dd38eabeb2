import { MockServerError } from "../errors.ts";
import type { controlCalls } from "../generated/control-calls.ts";
import { ServiceError } from "../rules/service-error.ts";
import { type CallName, readArguments } from "./call-arguments.ts";
import type { ControlsOf, RouteMethod } from "./contract/route.ts";
import type { contract } from "./contract.ts";
import { createDeliveryControls } from "./deliveries/delivery-controls.ts";
import { createEndpointControls } from "./endpoints/endpoint-controls.ts";
import { createEventControls } from "./events/event-controls.ts";
import { createFaultControls } from "./faults/fault-controls.ts";
import { createKeyControls } from "./keys/key-controls.ts";
import { createMockControls, type MockControlsOptions } from "./mock/mock-controls.ts";
import { createOverrideControls } from "./overrides/override-controls.ts";
import { createRequestControls } from "./requests/request-controls.ts";
import { createSearchControls } from "./search/search-controls.ts";
import { createSettingsControls } from "./settings/settings-controls.ts";
import { createTaskControls } from "./tasks/task-controls.ts";
import { createUploadControls } from "./uploads/upload-controls.ts";
import { createWorkspaceControls } from "./workspaces/workspace-controls.ts";
import { createWorldControls } from "./worlds/world-controls.ts";
import type { WorldDirectory } from "./worlds/world-directory.ts";

type Methods = {
  readonly [Name in keyof typeof controlCalls]: RouteMethod<(typeof contract)[Name]>;
};

/**
 * The control API as methods: in this process as `mock.control`, over HTTP as `createControlClient`. Every
 * method resolves to what its call responds with over HTTP, and rejects with a `MockServerError`.
 */
export interface ControlApi extends Methods {}

/** The implementation of every call; the HTTP handler and `ControlApi` use the same one. */
export type Controls = ControlsOf<typeof contract>;

export type ControlsOptions = MockControlsOptions & {
  /** The worlds of the mock. Default: none can be reached. */
  readonly directory?: WorldDirectory | null | undefined;
};

export function createControls(options: ControlsOptions): Controls {
  const { worlds, directory = null } = options;
  return {
    ...createMockControls(options),
    ...createWorldControls(directory),
    ...createSettingsControls(worlds),
    ...createWorkspaceControls(worlds),
    ...createKeyControls(worlds),
    ...createTaskControls(worlds),
    ...createEventControls(worlds),
    ...createEndpointControls(worlds),
    ...createDeliveryControls(worlds),
    ...createRequestControls(worlds),
    ...createSearchControls(worlds),
    ...createUploadControls(worlds),
    ...createFaultControls(worlds),
    ...createOverrideControls(worlds),
  };
}

type Method = (...parameters: unknown[]) => unknown;

/**
 * The controls with the checks of the HTTP API: the same input is accepted, and rejected with the same code and
 * message. A `body` that JSON cannot express is rejected as the client does.
 * @param requireOpen throws when the world has ended
 */
export function createControlApi(controls: Controls, requireOpen = () => {}): ControlApi {
  // Callers may change what they get; parts of it are the world's own.
  const ownSnapshot = { getSnapshot: async () => structuredClone(await controls.getSnapshot()) };
  const methods = Object.entries({ ...controls, ...ownSnapshot }).map(([name, control]) => {
    const method = async (...parameters: unknown[]) => {
      try {
        requireOpen();
        const { ids, input, options } = readArguments(name as CallName, parameters);
        if (input === undefined) return await (control as Method)(...ids, options);
        // Loaded when first needed, with zod.
        inputChecks ??= await loadInputChecks();
        return await (control as Method)(...ids, inputChecks(name as CallName, input), options);
      } catch (error) {
        throw toMockServerError(error);
      }
    };
    return [name, method];
  });
  return Object.fromEntries(methods) as ControlApi;
}

type InputCheck = (name: CallName, input: unknown) => unknown;

let inputChecks: InputCheck | undefined;

async function loadInputChecks(): Promise<InputCheck> {
  const { contract } = await import("./contract.ts");
  const { checkRouteInput } = await import("./contract/check-input.ts");
  return (name, input) => checkRouteInput(contract[name], input);
}

/** The error as callers of the control API get it: without the classes and codes of the service's own API. */
export function toMockServerError(error: unknown): MockServerError {
  const cause = { cause: error };
  if (error instanceof ServiceError) {
    const { code, message, reason } = error;
    const isOwnCode = code === "NOT_FOUND" || code === "CONFLICT";
    const withReason = reason === undefined ? message : `${message}: ${reason}`;
    return new MockServerError(isOwnCode ? code : "BODY_INVALID", withReason, cause);
  }
  if (error instanceof MockServerError) return error;
  return new MockServerError("INTERNAL", "the mock failed; this is a bug", cause);
}
