import { readFile } from "node:fs/promises";
import { CommandError } from "../../cli/command-line.ts";
import { ControlError } from "../control/control-error.ts";
import type { ScenarioDocument } from "../control/scenario.ts";
import type { MockServer } from "../server.ts";
import { createMockServer } from "../server.ts";
import { SnapshotError } from "../snapshot/snapshot-error.ts";
import type { MockOrder } from "./mock-options.ts";
import { registerReceiver } from "./register-receiver.ts";
import { keepState } from "./state-keeper.ts";

export type RunningMock = {
  readonly mock: MockServer;
  /** Of the endpoint that `--deliver-to` asked for. */
  readonly signingSecret: string | undefined;
  /** Writes the state a last time, if it is kept, and stops. */
  stop(): Promise<void>;
};

/** Starts the mock that the flags ask for, from its snapshot where there is one. */
export async function startMock(order: MockOrder): Promise<RunningMock> {
  const { server, statePath, scenarioPath, deliverTo } = order;
  const snapshot = statePath === undefined ? null : await readState(statePath);
  const scenario = scenarioPath === undefined ? null : await readScenarioFile(scenarioPath);
  const mock = await createMockServer(server).catch((error: unknown) => {
    throw explainStart(error, server.port ?? 0, server.host ?? "127.0.0.1");
  });
  try {
    if (snapshot) await mock.admin.restore(snapshot);
    const signingSecret = deliverTo === undefined ? undefined : await registerReceiver(mock, deliverTo);
    if (scenario) await play(mock, scenario);
    const keeper = statePath === undefined ? null : keepState(mock.admin, statePath);
    const stop = async () => {
      try {
        await keeper?.stop();
      } finally {
        await mock.close();
      }
    };
    return { mock, signingSecret, stop };
  } catch (error) {
    await mock.close();
    throw error;
  }
}

async function readState(path: string) {
  try {
    // Loaded when first needed: the schemas of a snapshot cost time that other starts should not pay.
    const { readSnapshotFile } = await import("../snapshot/snapshot-file.ts");
    return await readSnapshotFile(path);
  } catch (error) {
    const reason = error instanceof SnapshotError ? error.message : codeOf(error);
    throw new CommandError(`cannot go on from ${path}: ${reason}; move the file away to start anew`);
  }
}

async function readScenarioFile(path: string): Promise<ScenarioDocument> {
  try {
    const { parseScenario } = await import("../control/scenario.ts");
    return parseScenario(await readFile(path, "utf8"));
  } catch (error) {
    const reason = error instanceof ControlError ? error.message : codeOf(error);
    throw new CommandError(`cannot play ${path}: ${reason}`);
  }
}

async function play(mock: MockServer, scenario: ScenarioDocument): Promise<void> {
  try {
    await mock.admin.playScenario(scenario);
  } catch (error) {
    throw error instanceof ControlError ? new CommandError(error.message) : error;
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
