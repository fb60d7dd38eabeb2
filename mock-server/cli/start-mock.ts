import type { MockServer } from "../server.ts";
import { createMockServer } from "../server.ts";
import { SnapshotError } from "../snapshot/read-snapshot.ts";
import { readSnapshotFile } from "../snapshot/snapshot-file.ts";
import { CommandError } from "./command-io.ts";
import type { MockOrder } from "./mock-options.ts";
import { keepState } from "./state-keeper.ts";

export type RunningMock = {
  readonly mock: MockServer;
  /** Writes the state a last time, if it is kept, and stops. */
  stop(): Promise<void>;
};

/** Starts the mock that the flags ask for, from its snapshot where there is one. */
export async function startMock({ server, statePath }: MockOrder): Promise<RunningMock> {
  const snapshot = statePath === undefined ? null : await readState(statePath);
  const mock = await createMockServer(server).catch((error: unknown) => {
    throw explainStart(error, server.port ?? 0, server.host ?? "127.0.0.1");
  });
  if (snapshot) await mock.admin.restore(snapshot);
  const keeper = statePath === undefined ? null : keepState(mock.admin, statePath);
  return {
    mock,
    async stop() {
      await keeper?.stop();
      await mock.close();
    },
  };
}

async function readState(path: string) {
  try {
    return await readSnapshotFile(path);
  } catch (error) {
    const reason = error instanceof SnapshotError ? error.message : codeOf(error);
    throw new CommandError(`cannot go on from ${path}: ${reason}; move the file away to start anew`);
  }
}

function explainStart(error: unknown, port: number, host: string): unknown {
  const code = codeOf(error);
  if (code === "EADDRINUSE") {
    return new CommandError(`port ${port} is in use; stop what listens there or choose another with --port`);
  }
  if (code === "EACCES")
    return new CommandError(`port ${port} may not be used; choose one above 1023 with --port`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new CommandError(`this computer has no address ${host}; choose another with --host`);
  }
  return error;
}

const codeOf = (error: unknown) =>
  error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
