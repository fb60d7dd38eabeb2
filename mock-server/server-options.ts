import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isHostName } from "@workspace-tasks/kernel/host.ts";
import { tagOf } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { checkOptions, invalidOption } from "./checks.ts";
import type { ConnectionCheck, ReceiverFunction } from "./outbound.ts";
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

export const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text;

const clockOption = s.objectWith<Clock>(
  '"real", "virtual" or a clock',
  ...(["now", "monotonic", "schedule"] as const),
);

const mockOptions = s.strictOptions<MockServerOptions>()({
  listen: s.optional(s.boolean),
  port: s.optional(s.integerBetween(0, 65_535)),
  host: s.optional(s.nonEmptyString),
  clock: s.optional((value, path) =>
    value === "real" || value === "virtual" ? value : clockOption(value, path),
  ),
  seed: s.optional(s.number),
  settings: s.optional(s.object),
  faults: s.optional(s.object),
  receivers: s.optional(
    s.refine(
      "a Map of functions",
      (value) =>
        tagOf(value) === "Map" &&
        [...(value as Map<unknown, unknown>).values()].every((each) => typeof each === "function"),
    ),
  ),
  deliverOnly: s.optional(s.oneOf("loopback")),
  trustedCertificates: s.optional(s.array(s.string)),
  checkConnection: s.optional(s.functionOf()),
  hostsAllowed: s.optional(s.array(s.refineString("a host name without a port", isHostName, "another"))),
  originsAllowed: s.optional(
    s.array(s.refineString("an origin such as http://localhost:3000", isOrigin, "another")),
  ),
});
const caller = "createMockServer";

/**
 * Validates options for JavaScript callers, unknown names included.
 * @throws MockServerError CONFIGURATION_INVALID for the first option that is wrong
 */
export async function checkMockOptions(options: MockServerOptions): Promise<void> {
  checkOptions(caller, options, mockOptions);
  if (options.faults) {
    const { checkSchema } = await import("./checks.ts");
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
