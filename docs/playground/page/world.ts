// The life of the worker with its world: ready, running a program, or replaced by a new one.

import type { FromWorker, Line, ToWorker } from "../worker/messages.ts";

export interface World {
  /** Resolves when the program has ended. @throws Error when it is stopped, has not ended after a minute, or has no mock */
  run(source: string): Promise<void>;
  /** A port to the mock, for a port client. */
  connect(): MessagePort;
  /** Replaces the world by a new one. @param reason why a program that runs does not go to its end */
  replace(reason: string): void;
}

export interface WorldOptions {
  onLine(line: Line): void;
  /** Called when a new world has replaced another one. */
  onStart(): void;
}

const runLimitMs = 60_000;
const notStarted = "The mock could not start. Load the page again.";

export function createWorld({ onLine, onStart }: WorldOptions): World {
  let endRun: (problem: string | null) => void = () => {};
  let hasFailed = false;
  let worker = start();

  function start(): Worker {
    const started = new Worker(new URL("../worker/worker.ts", import.meta.url), { type: "module" });
    started.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if ("line" in data) onLine(data.line);
      else endRun(null);
    };
    hasFailed = false;
    started.onerror = () => {
      hasFailed = true;
      onLine({ kind: "error", text: notStarted });
      endRun(notStarted);
    };
    return started;
  }

  const replace = (reason: string) => {
    worker.terminate();
    endRun(reason);
    worker = start();
    onStart();
  };

  return {
    replace,
    connect() {
      const { port1, port2 } = new MessageChannel();
      post(worker, { connect: true }, [port1]);
      return port2;
    },
    run: (source) =>
      new Promise((resolve, reject) => {
        if (hasFailed) return reject(new Error(notStarted));
        const tooLong = `The program did not end within ${runLimitMs / 1_000} seconds. Its worker was ended, with its world.`;
        const limit = setTimeout(replace, runLimitMs, tooLong);
        endRun = (problem) => {
          clearTimeout(limit);
          endRun = () => {};
          if (problem === null) resolve();
          else reject(new Error(problem));
        };
        post(worker, { run: source });
      }),
  };
}

const post = (worker: Worker, message: ToWorker, ports: Transferable[] = []) =>
  worker.postMessage(message, ports);
