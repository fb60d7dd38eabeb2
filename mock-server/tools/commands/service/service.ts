// What the commands for the real service share: its address and key, its errors, questions, and where secrets go.

import { readFile } from "node:fs/promises";
import {
  CommandError,
  type CommandIo,
  type FlagValues,
  text,
  UsageError,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { findOutputFile, type OutputKind, writeOutputFile } from "@workspace-tasks/kernel/output-file.ts";
import { version } from "@workspace-tasks/kernel/version.ts";
import { orFail } from "@workspace-tasks/mock-server/parts";
import {
  createClient,
  type ErrorCode,
  isWorkspaceTasksError,
  type WorkspaceTasksClient,
} from "@workspace-tasks/sdk";
import { connectHints, connectionCodeOf } from "../../connection-errors.ts";
import { addressFlag, addressIn, checkKey } from "../service-address.ts";

const baseUrlVariable = "WORKSPACE_TASKS_BASE_URL";
const apiKeyVariable = "WORKSPACE_TASKS_API_KEY";

export const serviceFlags = {
  baseUrl: addressFlag(`address of the service, or of a mock (${baseUrlVariable})`),
  apiKeyFile: text("<file>", `file with the API key (${apiKeyVariable} holds the key itself)`),
};

export type ServiceAddress = FlagValues<typeof serviceFlags>;

export interface Service {
  readonly baseUrl: string;
  readonly client: WorkspaceTasksClient;
}

/** Uses a client of the service that the flags or the environment name; an error becomes one sentence with what to do. */
export async function withService<Result>(
  address: ServiceAddress,
  io: CommandIo,
  use: (service: Service) => Promise<Result>,
): Promise<Result> {
  const baseUrl = baseUrlOf(address, io);
  const apiKey = await apiKeyOf(address, io);
  const client = createClient({
    baseUrl,
    apiKey,
    headers: { "user-agent": `workspace-tasks-command/${version}` },
    deadlineMs: 60_000,
  });
  try {
    return await use({ baseUrl, client });
  } catch (error) {
    throw explain(error);
  } finally {
    await client.close();
  }
}

function baseUrlOf(flags: ServiceAddress, io: CommandIo): string {
  const baseUrl = flags.baseUrl ?? addressIn(baseUrlVariable, io);
  if (baseUrl !== undefined) return baseUrl;
  throw new UsageError(`expected --base-url <url> or ${baseUrlVariable}`);
}

/** Never an argument: other users of the machine see those of a process. */
async function apiKeyOf({ apiKeyFile }: ServiceAddress, { env }: CommandIo): Promise<string> {
  const fromFile = () =>
    orFail(`--api-key-file: cannot read ${apiKeyFile}`, () => readFile(String(apiKeyFile), "utf8"));
  const given = apiKeyFile === undefined ? env[apiKeyVariable] : await fromFile();
  const key = given?.trim();
  const name = apiKeyFile === undefined ? apiKeyVariable : `--api-key-file: ${apiKeyFile}`;
  if (key) return checkKey(name, key);
  if (given !== undefined) throw new CommandError(`${name}: expected a key, got an empty text`);
  throw new UsageError(`expected the API key in ${apiKeyVariable}, or --api-key-file <file>`);
}

/** An error of the SDK as one sentence. */
export function explain(error: unknown): unknown {
  if (!isWorkspaceTasksError(error)) return error;
  if (error.code === "ABORTED") return new CommandError("stopped; nothing more was sent");
  const hint = remedies[error.code] ?? connectHints[connectionCodeOf(error.cause) ?? ""];
  return new CommandError(hint === undefined ? error.message : `${error.message}. ${hint}`);
}

const remedies: { readonly [Code in ErrorCode]?: string } = {
  API_KEY_REJECTED: `Correct ${apiKeyVariable} or the file of --api-key-file.`,
  PERMISSION_DENIED: "Webhook endpoints need a read_write key of an administrator.",
};

/** @throws CommandError unless the user agrees: with `--yes`, or at the terminal */
export async function requireAgreement(question: string, yes: boolean, io: CommandIo): Promise<void> {
  if (yes) return;
  if (!io.ask) throw new UsageError(`${question} Expected a terminal to ask at, or --yes`);
  if (!/^y(es)?$/i.test((await io.ask(`${question} [y/N] `)).trim()))
    throw new CommandError("nothing was changed");
}

/** A file that this command replaces: it holds a signing secret and nothing else. */
const secretFile: OutputKind = {
  name: "a signing secret",
  mark: /^whsec_\S*\s*$/,
  isPrivate: true,
};

/** Checked before a secret is issued, which is shown once. @throws CommandError for a file that cannot be written */
export const checkSecretFile = (path: string): Promise<unknown> =>
  orFail(`--secret-file: cannot write ${path}`, () => findOutputFile(path, secretFile));

/** Writes the secret for the owner of the file alone. */
export const writeSecretFile = (path: string, secret: string): Promise<unknown> =>
  orFail(`--secret-file: cannot write ${path}`, () => writeOutputFile(path, `${secret}\n`, secretFile));
