import {
  CommandError,
  type CommandIo,
  type FlagValues,
  flag,
  repeated,
  text,
  toggle,
  UsageError,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { type Access, type KeyName, keyNames, keyVariables } from "../../compare/ask/service.ts";
import { addressExpected, parseAddress, withoutSecrets } from "../parse-address.ts";

const address = (about: string) =>
  flag("<url>", about, { parse: parseAddress, expected: addressExpected, show: withoutSecrets });

export const compareFlags = {
  baseUrl: address("address of the service (WORKSPACE_TASKS_BASE_URL)"),
  gatewayUrl: address("address of the partner operations (WORKSPACE_TASKS_GATEWAY_URL)"),
  writes: toggle("also create, change and remove webhook endpoints; asks first"),
  yes: toggle("do not ask"),
  deliveries: text("<file>", "deliveries that a receiver has captured; needs no service"),
  record: text("<file>", "keep the facts, a line for each rule"),
  replay: text("<file>", "evaluate a record again, without the service"),
  report: repeated("<file>", "also write a report: .json or .xml (JUnit); repeatable"),
  write: text("<file.json>", "write settings with which the mock does the same"),
  settings: text("<file.json>", "settings of the mock to compare with (its defaults)"),
  json: toggle("print one JSON document instead of text"),
};

export type CompareFlags = FlagValues<typeof compareFlags>;

/** Whether all facts come from files. @throws UsageError for flags that exclude each other */
export function needsNoService(flags: CompareFlags, { env }: CommandIo): boolean {
  const { baseUrl, replay, record, writes, deliveries } = flags;
  if (replay !== undefined) {
    const [other] =
      Object.entries({ "--writes": writes, "--record": record }).find(([, value]) => value) ?? [];
    if (other !== undefined) throw new UsageError(`expected --replay or ${other}, got both`);
    return true;
  }
  if (deliveries === undefined || baseUrl !== undefined || writes) return false;
  const hasKey = Object.values(keyVariables).some((name) => env[name]);
  return !(hasKey && env["WORKSPACE_TASKS_BASE_URL"]);
}

/** Addresses and keys. @throws UsageError without them */
export function accessOf(flags: CompareFlags, io: CommandIo): Access {
  const access = { ...addressesOf(flags, io), keys: keysOf(io) };
  const entries = Object.entries(access.keys) as readonly (readonly [KeyName, string])[];
  if (entries.length === 0)
    throw new UsageError(`expected a key in ${keyVariables.admin}, or another one that --help names`);
  for (const [name, value] of entries) {
    const same = entries.find((other) => other[0] !== name && other[1] === value);
    if (same)
      throw new UsageError(`${keyVariables[same[0]]}: expected another key than ${keyVariables[name]}`);
    if ([access.baseUrl, access.gatewayUrl].some((url) => url?.includes(value)))
      throw new UsageError(`expected a URL without a key, got one with the key of ${keyVariables[name]}`);
  }
  return access;
}

function addressesOf({ baseUrl, gatewayUrl }: CompareFlags, { env }: CommandIo) {
  const fromEnvironment = (name: string) => {
    const value = env[name];
    if (!value) return undefined;
    const parsed = parseAddress(value);
    if (parsed !== undefined) return parsed;
    throw new UsageError(`${name}: expected ${addressExpected}`);
  };
  const base = baseUrl ?? fromEnvironment("WORKSPACE_TASKS_BASE_URL");
  if (base === undefined) throw new UsageError("expected --base-url <url> or WORKSPACE_TASKS_BASE_URL");
  return { baseUrl: base, gatewayUrl: gatewayUrl ?? fromEnvironment("WORKSPACE_TASKS_GATEWAY_URL") ?? null };
}

function keysOf({ env }: CommandIo): Partial<Record<KeyName, string>> {
  const given = keyNames.flatMap((name) => {
    const value = env[keyVariables[name]]?.trim();
    if (!value) return [];
    if (/[^\x21-\x7e]/.test(value))
      throw new CommandError(
        `${keyVariables[name]}: expected a key, got text with spaces, line breaks or letters outside of ASCII`,
      );
    return [[name, value] as const];
  });
  return Object.fromEntries(given);
}
