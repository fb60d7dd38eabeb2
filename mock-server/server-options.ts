import type { Clock } from "../sdk/kernel/clock.ts";
import { isHostName } from "../sdk/kernel/host.ts";
import {
  boolean,
  checkOptions,
  functionKind,
  invalidOption,
  type Kind,
  kind,
  list,
  number,
  object,
  strings,
} from "./checks/check-options.ts";
import type { ReceiverFunction } from "./outbound/in-process-transport.ts";
import type { ConnectionCheck } from "./outbound/port.ts";
import type { SettingsChanges } from "./settings/settings.ts";
import type { FaultPlan } from "./state/fault.ts";

export interface MockServerOptions {
  /** `false`: no port, reachable through `fetch` only. Default: `true`. */
  readonly listen?: boolean | undefined;
  /** Default: 0, any free port. */
  readonly port?: number | undefined;
  /** Default: `127.0.0.1`. With any but a loopback address others on the network can reach the mock. */
  readonly host?: string | undefined;
  /** `virtual`: time moves only by `clock.advance`. A clock of your own can be shared. Default: `real`. */
  readonly clock?: "real" | "virtual" | Clock | undefined;
  /** Equal seeds and equal calls give equal keys and faults, with a virtual clock also equal ids and journals. Default: 1. */
  readonly seed?: number | undefined;
  /** Changes to single settings; everything else keeps its default. */
  readonly settings?: SettingsChanges | undefined;
  /**
   * Injected from the start; a reset restores them. A rule names events, endpoints and keys that the mock has at its start
   * (with a virtual clock their ids are the same in every run); `control.addFaults` takes rules for later ones.
   */
  readonly faults?: FaultPlan | undefined;
  /** Receivers in this process by endpoint URL, called in place of a socket. */
  readonly receivers?: ReadonlyMap<string, ReceiverFunction> | undefined;
  /** `loopback`: deliveries to other computers fail instead of being sent. Default: they are sent. */
  readonly deliverOnly?: "loopback" | undefined;
  /** Certificates in PEM that HTTPS receivers may use, besides those that Node trusts. Default: none. */
  readonly trustedCertificates?: readonly string[] | undefined;
  /** Replaces the check of a provider connection: `true` makes it `active`. */
  readonly checkConnection?: ((check: ConnectionCheck) => boolean | Promise<boolean>) | undefined;
  /** Host names besides the loopback ones under which the socket serves. Default: none. */
  readonly hostsAllowed?: readonly string[] | undefined;
  /** Origins of web pages that may call the mock, such as `http://localhost:3000`. Default: none. */
  readonly originsAllowed?: readonly string[] | undefined;
}

const isClock = (value: unknown) =>
  typeof value === "object" &&
  value !== null &&
  ["now", "monotonic", "schedule"].every((name) => typeof Reflect.get(value, name) === "function");

const text = (accepts: (item: string) => boolean) => (item: unknown) =>
  typeof item === "string" && accepts(item);
export const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text;

const kinds: { readonly [Name in keyof Required<MockServerOptions>]: Kind } = {
  listen: boolean,
  port: kind(
    "a whole number from 0 to 65535",
    (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 65_536,
  ),
  host: kind("a host name", (value) => typeof value === "string" && value !== ""),
  clock: kind(
    '"real", "virtual" or a clock',
    (value) => value === "real" || value === "virtual" || isClock(value),
  ),
  seed: number,
  settings: object,
  faults: object,
  receivers: kind(
    "a Map of functions",
    (value) => value instanceof Map && [...value.values()].every(functionKind.accepts),
  ),
  deliverOnly: kind('"loopback"', (value) => value === "loopback"),
  trustedCertificates: strings,
  checkConnection: functionKind,
  hostsAllowed: list("an array of host names without a port", text(isHostName)),
  originsAllowed: list("an array of origins such as http://localhost:3000", text(isOrigin)),
};

const caller = "createMockServer";

/**
 * Validates options for JavaScript callers, unknown names included.
 * @throws MockServerError CONFIGURATION_INVALID for the first option that is wrong
 */
export async function checkMockOptions(options: MockServerOptions): Promise<void> {
  checkOptions(caller, options, kinds);
  if (options.faults) {
    const { checkSchema } = await import("./checks/check-schema.ts");
    const { faultPlanSchema } = await import("./state/fault.ts");
    const [issue] = checkSchema(faultPlanSchema, options.faults).issues ?? [];
    if (issue) throw invalidOption(caller, ["faults", issue.path].filter(Boolean).join("."), issue.message);
  }
  if (options.settings) {
    const { issuesOfSettings } = await import("./settings/settings-schema.ts");
    const [issue] = issuesOfSettings(options.settings);
    if (issue) throw invalidOption(caller, ["settings", issue.path].filter(Boolean).join("."), issue.message);
  }
}
