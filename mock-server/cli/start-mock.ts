import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { type FileLock, lockFile } from "@workspace-tasks/kernel/file-lock.ts";
import { isHostName, isLoopbackHost, withoutBrackets } from "@workspace-tasks/kernel/host.ts";
import { isHttpUrl, isReceiverUrl } from "../checks.ts";
import type { MockServer } from "../create-mock.ts";
import { isMockServerError } from "../errors.ts";
import { contractProfile } from "../faults.ts";
import { findSnapshotFile, readSnapshotFile, writeSnapshotFile } from "../node/snapshot-file.ts";
import { createMockServer } from "../server.ts";
import { isOrigin, type MockServerOptions } from "../server-options.ts";
import { defaultSettings, type SettingsChanges, withSettings } from "../settings/settings.ts";
import { orFail, readSettings, reasonOf } from "./read-settings.ts";

export interface RunningMock {
  readonly mock: MockServer;
  /** The secret of the endpoint registered for `--deliver-to`. */
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
  const snapshot = state === undefined ? null : await usable(state, () => readSnapshotFile(state));
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
    throw isMockServerError(error) ? new cli.CommandError(error.message) : error;
  }
}

async function saveState(mock: MockServer, file: StateFile, warn: Warn): Promise<Autosave> {
  const { path } = file;
  const problem = `--state: cannot write ${path}`;
  const warnOnce = (error: unknown) =>
    warn(`${problem}: ${reasonOf(error)}; tries again after the next change`);
  const saving = await orFail(problem, () => autosave(mock, file, warnOnce), "; choose another file");
  return { stop: () => orFail(problem, saving.stop) };
}

/** Beside the file itself, so that mocks that reach it by several links have one lock. */
async function lockStateFile(path: string, warn: Warn): Promise<FileLock> {
  const onWait = (owner: string) =>
    warn(`--state: waits up to a minute for ${owner}, which may still use ${path}`);
  const lock = await usable(path, async () => lockFile(await findSnapshotFile(path), { onWait }));
  if (typeof lock !== "string") return lock;
  throw new cli.CommandError(`--state: cannot use ${path}: ${lock}; choose another file`);
}

const usable = <Result>(path: string, use: () => Promise<Result>) =>
  orFail(`--state: cannot use ${path}`, use, "; choose another file, or move this one away");

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
      return new cli.CommandError(
        `--port: ${port} is in use; stop the program that uses it, or choose another port`,
      );
    case "EACCES":
      return new cli.CommandError(`--port: ${port} is reserved by the system; choose one above 1023`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new cli.CommandError(`--host: this computer has no address ${host}; choose another`);
    default:
      return isMockServerError(error) ? new cli.CommandError(error.message) : error;
  }
}

type DeliveryFlags = Pick<MockOptions, "deliverTo" | "deliverOnly" | "allowHttpHost">;

/**
 * The settings with the flags about deliveries. The receiver is part of the seed data, so that a reset keeps it, with its
 * secret.
 * @throws UsageError for a receiver to which the mock would not deliver
 */
function withDeliveries(
  given: SettingsChanges | undefined,
  { deliverTo: url, deliverOnly, allowHttpHost }: DeliveryFlags,
): SettingsChanges | undefined {
  const httpHostsAllowed = [...(given?.httpHostsAllowed ?? []), ...allowHttpHost];
  const changes = allowHttpHost.length === 0 ? given : { ...given, httpHostsAllowed };
  if (url === undefined) return changes;
  checkReceiver(url, changes);
  const { host, hostname } = new URL(url);
  if (deliverOnly === "loopback" && !isLoopbackHost(hostname))
    throw new cli.UsageError(
      `--deliver-only: loopback sends nothing to ${host} of --deliver-to; omit one of them`,
    );
  const { seedData = defaultSettings.seedData } = changes ?? {};
  const [first, ...others] = seedData.workspaces;
  const endpoints = first?.endpoints ?? [];
  if (!first || endpoints.some((endpoint) => endpoint.url === url)) return changes;
  const workspace = { ...first, endpoints: [...endpoints, { url }] };
  return { ...changes, seedData: { workspaces: [workspace, ...others] } };
}

function checkReceiver(url: string, changes: SettingsChanges | undefined): void {
  if (isReceiverUrl(url, withSettings(changes))) return;
  const got = `got ${JSON.stringify(url)}`;
  const { hostname } = new URL(url);
  if (isLoopbackHost(hostname))
    throw new cli.UsageError(`--deliver-to: expected an https URL, as allowLoopbackHttp is false, ${got}`);
  const name = withoutBrackets(hostname);
  throw new cli.UsageError(
    `--deliver-to: expected ${receiverExpected}, ${got}; for plain HTTP to the container or computer ${name} add --allow-http-host ${name}`,
  );
}

const writeDelayMs = 1_000;
/** Share of the time that snapshots may take: a large state is written less often. */
const busyShareMax = 0.1;

interface StateFile {
  readonly path: string;
  readonly lock: FileLock;
}

interface Autosave {
  /** Writes the file a last time. */
  stop(): Promise<void>;
}

/**
 * Writes a snapshot file now, and after changes: one at a time and about one per second, so that a crash loses a second.
 * @param warn called with the first failure, and again after a write that succeeded; writes are repeated with every change
 * @throws the error of the first write
 */
export async function autosave(
  mock: MockServer,
  { path, lock }: StateFile,
  warn: (error: unknown) => void,
): Promise<Autosave> {
  let timer: NodeJS.Timeout | null = null;
  let hasFailed = false;
  let writeMs = 0;

  const write = async () => {
    if (!(await lock.isOwn())) throw new Error("another mock has taken the file over");
    const startedMs = performance.now();
    // As text: `control.getSnapshot` would copy the whole state first.
    const response = await mock.fetch("/_mock/v1/snapshot");
    const text = await response.text();
    if (!response.ok) throw new Error(JSON.parse(text).error.message);
    await writeSnapshotFile(path, text);
    writeMs = performance.now() - startedMs;
    hasFailed = false;
  };
  const writeOrWarn = () =>
    write().catch((error: unknown) => {
      if (!hasFailed) warn(error);
      hasFailed = true;
    });
  // Before the first write: the mock responds already, and what is made meanwhile may not be in it.
  let writing: Promise<void> = Promise.resolve();
  const unsubscribe = mock.subscribe(() => {
    timer ??= setTimeout(
      () => {
        timer = null;
        writing = writing.then(writeOrWarn);
      },
      Math.max(writeDelayMs, writeMs / busyShareMax),
    ).unref();
  });

  const stopWatching = () => {
    unsubscribe();
    if (timer) clearTimeout(timer);
  };
  const first = write();
  writing = first.catch(() => undefined);
  await first.catch((error: unknown) => {
    stopWatching();
    throw error;
  });

  return {
    async stop() {
      stopWatching();
      await writing;
      await write();
    },
  };
}

const receiverExpected =
  "an https URL, or an http URL of this computer such as http://127.0.0.1:3000/webhooks";

/** The flags that `mock` and `mock exec` share. @param secret what becomes of that of `--deliver-to` */
export const mockFlagsWith = (secret: string) => ({
  host: cli.text("<name>", "address to listen on", "127.0.0.1"),
  clock: cli.choice(["real", "virtual"], "virtual: moves only on command", "real"),
  seed: cli.wholeNumber("equal seeds give equal keys, with a virtual clock also equal ids", {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    fallback: 1,
  }),
  state: cli.text("<file.json>", "resume from this snapshot, and update it"),
  deliverTo: cli.flag("<url>", `send every event there, ${secret}`, {
    parse: (value) => (isHttpUrl(value) ? value : undefined),
    expected: receiverExpected,
  }),
  allowHttpHost: cli.list(
    "<name>",
    "also deliver over plain HTTP to this host, such as another container; repeatable",
    { accepts: isHostName, expected: "a host name without a port" },
  ),
  deliverOnly: cli.choice(["loopback"], "send no delivery to another computer"),
  chaos: cli.choice(["contract"], "duplicate, delay and reorder deliveries"),
  settings: cli.text("<file.json>", "retry schedule, limits, seed data, …"),
  set: cli.repeated("<name>=<value>", "a setting: rateLimit.requests=5; repeatable"),
  allowHost: cli.list("<name>", "serve under this host name too; repeatable", {
    accepts: isHostName,
    expected: "a host name without a port",
  }),
  allowOrigin: cli.list("<origin>", "serve web pages of this origin; repeatable", {
    accepts: isOrigin,
    expected: "an origin such as http://localhost:3000",
  }),
});

export const portFlag = (fallback: number) =>
  cli.wholeNumber("port; 0 takes any that is free", { min: 0, max: 65_535, fallback });

type MockOptions = cli.FlagValues<ReturnType<typeof mockFlagsWith>> & { readonly port: number };

function serverOptionsOf(options: MockOptions, settings: SettingsChanges | undefined): MockServerOptions {
  const { port, host, clock, seed, deliverOnly, chaos, allowHost, allowOrigin } = options;
  return {
    port,
    host,
    clock,
    seed,
    deliverOnly,
    faults: chaos && contractProfile,
    settings,
    hostsAllowed: allowHost,
    originsAllowed: allowOrigin,
  };
}
