// What the commands that talk to a running mock share.

import { CommandError, type CommandIo, flag } from "@workspace-tasks/kernel/cli/command-line.ts";
import { isHttpUrl } from "../../checks/service-url.ts";
import type { ControlApi } from "../../control/control-api.ts";
import { createControlClient } from "../../control/control-client.ts";
import { isMockServerError } from "../../errors.ts";

const baseUrlName = "WORKSPACE_TASKS_BASE_URL";

export const mockUrlFlags = {
  mock: flag("<url>", "address of the mock (WORKSPACE_TASKS_BASE_URL, or http://127.0.0.1:4010)", {
    parse: toMockUrl,
    expected: "a URL such as http://127.0.0.1:4010, or a port",
    // User info may be a password.
    show: (url) => url.replace(/\/\/[^/]*@/, "//…@"),
  }),
  world: flag("<name>", "one of the mock's worlds (its own)", {
    parse: (value) => (/^[\w-]{1,64}$/.test(value) ? value : undefined),
    expected: "letters, digits, hyphens and underscores",
  }),
};

export interface MockAddress {
  readonly mock: string | undefined;
  readonly world: string | undefined;
}

function toMockUrl(value: string): string | undefined {
  const url = /^\d{1,5}$/.test(value) ? `http://127.0.0.1:${value}` : value;
  return isHttpUrl(url) ? url : undefined;
}

/** The `baseUrl` of the mock, or of its world. */
export function mockUrlOf({ mock, world }: MockAddress, { env }: CommandIo): string {
  const { [baseUrlName]: given } = env;
  const url = mock ?? mockUrlFlags.mock.parse(baseUrlName, given ? [given] : []) ?? "http://127.0.0.1:4010";
  const base = url.replace(/\/+$/, "");
  return world === undefined ? base : `${base.replace(/\/w\/[\w-]+$/, "")}/w/${world}`;
}

/** Calls the control API of the running mock; an error becomes one sentence with what to do. */
export async function withRunningMock<Result>(
  address: MockAddress,
  io: CommandIo,
  use: (control: ControlApi) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(createControlClient({ baseUrl: mockUrlOf(address, io) }));
  } catch (error) {
    throw explain(error);
  }
}

function explain(error: unknown): unknown {
  if (!isMockServerError(error)) return error;
  return new CommandError(`${error.message}${remedies[error.code] ?? ""}`);
}

const remedies: Readonly<Record<string, string>> = {
  NETWORK_FAILED: '; start one with "workspace-tasks mock" or pass --mock <url>',
  RESPONSE_INVALID: "; pass the address of a mock with --mock <url>",
  CLOCK_IS_REAL: ": workspace-tasks mock --clock virtual",
};
