import { CommandError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { type FileLock, lockFile } from "@workspace-tasks/kernel/file-lock.ts";
import type { MockServer } from "../../create-mock.ts";
import { isMockServerError } from "../../errors.ts";
import { findSnapshotFile, readSnapshotFile } from "../../node/snapshot-file.ts";
import { createMockServer } from "../../server.ts";
import { readSettings } from "../read-settings.ts";
import { reasonOf } from "../reason-of.ts";
import { type Autosave, autosave, type StateFile } from "./autosave.ts";
import { type MockOptions, serverOptionsOf } from "./mock-options.ts";
import { withDeliveries } from "./with-deliveries.ts";

export interface RunningMock {
  readonly mock: MockServer;
  /** Of the endpoint registered for `--deliver-to`. */
  readonly signingSecret: string | undefined;
  /** Writes the state file a last time, if there is one, and stops. @throws CommandError when it cannot be written */
  stop(): Promise<void>;
}

/** Reports what goes wrong while the mock runs. */
type Warn = (message: string) => void;

/** Starts the mock with the flags of the command, from its snapshot if there is one. */
export async function startMock(options: MockOptions, warn: Warn): Promise<RunningMock> {
  const { state } = options;
  const lock = state === undefined ? null : await lockStateFile(state, warn);
  try {
    return await startLocked(options, { lock, warn });
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

interface StartContext {
  readonly lock: FileLock | null;
  readonly warn: Warn;
}

async function startLocked(options: MockOptions, { lock, warn }: StartContext): Promise<RunningMock> {
  const { state, deliverTo } = options;
  const snapshot = state === undefined ? null : await readSnapshotFile(state).catch(unusable(state));
  const settings = withDeliveries(await readSettings(options), options);
  const mock = await createMockServer(serverOptionsOf(options, settings)).catch((error: unknown) => {
    throw explainStart(error, options);
  });
  try {
    if (snapshot) await mock.control.restoreSnapshot(snapshot);
    const signingSecret = deliverTo === undefined ? undefined : await registerReceiver(mock, deliverTo);
    const saving = state === undefined || !lock ? null : await saveState(mock, { path: state, lock }, warn);
    const stop = async () => {
      try {
        await saving?.stop();
      } finally {
        await mock.close();
        await lock?.release();
      }
    };
    return { mock, signingSecret, stop };
  } catch (error) {
    await mock.close();
    throw isMockServerError(error) ? new CommandError(error.message) : error;
  }
}

async function saveState(mock: MockServer, file: StateFile, warn: Warn): Promise<Autosave> {
  const { path } = file;
  const problem = (error: unknown) => `--state: cannot write ${path}: ${reasonOf(error)}`;
  const warnOnce = (error: unknown) => warn(`${problem(error)}; tries again after the next change`);
  const fail = (remedy: string) => (error: unknown) => {
    throw new CommandError(`${problem(error)}${remedy}`);
  };
  const saving = await autosave(mock, file, warnOnce).catch(fail("; choose another file"));
  return { stop: () => saving.stop().catch(fail("")) };
}

/** Beside the file itself, so that mocks that reach it by several links have one lock. */
async function lockStateFile(path: string, warn: Warn): Promise<FileLock> {
  const onWait = (owner: string) =>
    warn(`--state: waits up to a minute for ${owner}, which may still use ${path}`);
  const lock = await findSnapshotFile(path)
    .then((found) => lockFile(found, { onWait }))
    .catch(unusable(path));
  if (typeof lock !== "string") return lock;
  throw new CommandError(`--state: cannot use ${path}: ${lock}; choose another file`);
}

const unusable = (path: string) => (error: unknown) => {
  const reason = `${reasonOf(error)}; choose another file, or move this one away`;
  throw new CommandError(`--state: cannot use ${path}: ${reason}`);
};

/** Registers the endpoint unless the restored state has it. Returns its signing secret. */
async function registerReceiver({ control }: MockServer, url: string): Promise<string> {
  const { data } = await control.listEndpoints();
  const existing = data.find((endpoint) => endpoint.url === url);
  const endpoint = await (existing ? control.getEndpoint(existing.id) : control.createEndpoint({ url }));
  return endpoint.signingSecret;
}

function explainStart(error: unknown, { port, host }: MockOptions): unknown {
  switch (reasonOf(error)) {
    case "EADDRINUSE":
      return new CommandError(
        `--port: ${port} is in use; stop the program that uses it, or choose another port`,
      );
    case "EACCES":
      return new CommandError(`--port: ${port} is reserved by the system; choose one above 1023`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new CommandError(`--host: this computer has no address ${host}; choose another`);
    default:
      return isMockServerError(error) ? new CommandError(error.message) : error;
  }
}
