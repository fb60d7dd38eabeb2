import { readChoice, readFlags, readWholeNumber, UsageError } from "../../cli/command-line.ts";
import { contractProfile } from "../faults/contract-profile.ts";
import type { MockServerOptions } from "../server-options.ts";

/** Flags that `mock` and `mock exec` share. */
const mockFlags = {
  port: { type: "string" },
  host: { type: "string" },
  clock: { type: "string" },
  seed: { type: "string" },
  state: { type: "string" },
  scenario: { type: "string" },
  "deliver-to": { type: "string" },
  chaos: { type: "string" },
  "rate-window": { type: "string" },
  "unauthenticated-status": { type: "string" },
  "allow-host": { type: "string", multiple: true },
  json: { type: "boolean" },
} as const;

export const mockFlagsHelp = `  --host <name>                 address to listen on (127.0.0.1)
  --clock <real|virtual>        virtual: time moves only when told to (real)
  --seed <n>                    equal seeds give equal ids and keys (1)
  --state <file.json>           go on from this snapshot, keep it up to date
  --scenario <file.json>        take its steps before the mock is ready
  --deliver-to <url>            send every event there, tell the signing secret
  --chaos contract              deliveries repeat, come late and out of order
  --rate-window <kind>          sliding or fixed (sliding)
  --unauthenticated-status <n>  200 or 401 (200)
  --allow-host <name>           also a host of the control API; repeatable
`;

export type MockOrder = {
  readonly server: MockServerOptions;
  /** Snapshot file, if one is to be kept. */
  readonly statePath: string | undefined;
  /** URL of a receiver that is to get every event. */
  readonly deliverTo: string | undefined;
  /** Scenario to play before the mock is ready, if any. */
  readonly scenarioPath: string | undefined;
  readonly json: boolean;
};

/** @param portDefault what `--port` means when it is absent */
export function readMockOrder(argv: readonly string[], portDefault: number): MockOrder {
  const { values, positionals } = readFlags(argv, mockFlags);
  if (positionals.length > 0)
    throw new UsageError(`expected flags only, got ${JSON.stringify(positionals[0])}`);
  readChoice("chaos", values.chaos, ["contract"]);
  const status = readChoice("unauthenticated-status", values["unauthenticated-status"], ["200", "401"]);
  const window = readChoice("rate-window", values["rate-window"], ["sliding", "fixed"]);
  return {
    server: {
      port: readWholeNumber("port", values.port, { min: 0, max: 65_535 }) ?? portDefault,
      host: values.host,
      clock: readChoice("clock", values.clock, ["real", "virtual"]),
      seed: readWholeNumber("seed", values.seed, { min: 0, max: Number.MAX_SAFE_INTEGER }),
      faults: values.chaos ? contractProfile : undefined,
      settings: {
        ...(window ? { rateLimit: { window } } : {}),
        ...(status ? { unauthenticatedStatus: status === "401" ? 401 : 200 } : {}),
      },
      hostsAllowed: values["allow-host"]?.map((host) => host.toLowerCase()),
    },
    statePath: values.state,
    scenarioPath: values.scenario,
    deliverTo: values["deliver-to"],
    json: values.json ?? false,
  };
}
