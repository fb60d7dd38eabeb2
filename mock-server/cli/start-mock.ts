import { access, constants, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandError } from "../../cli/command-error.ts";
import { ControlError } from "../control/control-error.ts";
import type { ScenarioDocument } from "../control/scenario.ts";
import type { MockServer } from "../server.ts";
import { createMockServer } from "../server.ts";
import { SnapshotError } from "../snapshot/snapshot-error.ts";
import { autosave } from "./autosave.ts";
import type { MockOptions } from "./mock-options.ts";
import { registerReceiver } from "./register-receiver.ts";

export interface RunningMock {
  readonly mock: MockServer;
  /** Of the endpoint registered for `--deliver-to`. */
  readonly signingSecret: string | undefined;
  /** Writes the state file a last time, if there is one, and stops. */
  stop(): Promise<void>;
}

/** Starts the mock that the flags describe, from its snapshot if there is one. */
export async function startMock(options: MockOptions): Promise<RunningMock> {
  const { server, statePath, scenarioPath, deliverTo } = options;
  const snapshot = statePath === undefined ? null : await readState(statePath);
  const scenario = scenarioPath === undefined ? null : await readScenarioFile(scenarioPath);
  const mock = await createMockServer(server).catch((error: unknown) => {
    throw explainStart(error, server.port ?? 0, server.host ?? "127.0.0.1");
  });
  try {
    if (snapshot) await mock.admin.restore(snapshot);
    const signingSecret = deliverTo === undefined ? undefined : await registerReceiver(mock, deliverTo);
    if (scenario) await play(mock, scenario);
    const saving = statePath === undefined ? null : autosave(mock.admin, statePath);
    const stop = async () => {
      try {
        await saving?.stop();
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
    // Imported on demand: the snapshot schemas cost time that other starts should not pay.
    const { readSnapshotFile } = await import("../snapshot/snapshot-file.ts");
    const snapshot = await readSnapshotFile(path);
    await access(dirname(path), constants.W_OK);
    return snapshot;
  } catch (error) {
    const reason = error instanceof SnapshotError ? error.message : codeOf(error);
    throw new CommandError(
      `--state: cannot use ${path}: ${reason}; choose another file, or move this one away`,
    );
  }
}

async function readScenarioFile(path: string): Promise<ScenarioDocument> {
  try {
    const { parseScenario } = await import("../control/scenario.ts");
    return parseScenario(await readFile(path, "utf8"));
  } catch (error) {
    const reason = error instanceof ControlError ? error.message : codeOf(error);
    throw new CommandError(`--scenario: cannot read ${path}: ${reason}`);
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
  switch (codeOf(error)) {
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
      return error;
  }
}

const codeOf = (error: unknown) =>
  error instanceof Error && "code" in error ? String(error.code) : "it is not readable";
