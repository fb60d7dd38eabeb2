// One world and the program of the user, in one thread: a program that hangs is ended together with its world.

import "./node/globals.ts";
import { createReceiver, createVerifier, memoryInbox } from "@workspace-tasks/receiver-kit";
import { createClient } from "@workspace-tasks/sdk";
import { createMock } from "../../../mock-server/create-mock.ts";
import type { ReceiverFunction } from "../../../mock-server/outbound.ts";
import { servePort } from "../port.ts";
import { describe, describeError } from "./describe.ts";
import type { FromWorker, Line, ToWorker } from "./messages.ts";
import { webPlatform } from "./web-platform.ts";
import { addStreams } from "./web-streams.ts";

/** A program can print faster than the page shows it. */
const linesMax = 1_000;

addStreams(Request, ReadableStream);
const send = (message: FromWorker) => self.postMessage(message);
let lines = 0;
const print = (line: Line) => {
  lines++;
  if (lines <= linesMax) send({ line });
  if (lines === linesMax) send({ line: { kind: "warn", text: `more than ${linesMax} lines are not shown` } });
};
const kinds = { log: "log", info: "log", debug: "log", warn: "warn", error: "error" } as const;
for (const [name, kind] of Object.entries(kinds))
  Reflect.set(console, name, (...values: readonly unknown[]) =>
    print({ kind, text: values.map(describe).join(" ") }),
  );
self.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  print(describeError(event.reason));
});
self.addEventListener("error", (event) => {
  event.preventDefault();
  print(describeError(event.error ?? event.message));
});

const ready = startWorld();
self.onmessage = async ({ data, ports: [port] }: MessageEvent<ToWorker>) => {
  const mock = await ready;
  if ("run" in data) return run(data.run);
  if (port) servePort(port, mock.fetch);
};

/** What a program finds as globals; its requests reach the mock and nothing else. */
async function startWorld() {
  const receivers = new Map<string, ReceiverFunction>();
  const mock = await createMock({ clock: "virtual", listen: false, receivers }, webPlatform);
  const { apiKey, baseUrl, fetch } = mock;
  // The key is that of a mock which exists in this page only.
  const client = createClient({ apiKey, baseUrl, fetch, dangerouslyAllowBrowser: true });
  const parts = { createClient, createReceiver, createVerifier, memoryInbox };
  Object.assign(globalThis, { mock, client, receivers, fetch, ...parts });
  return mock;
}

async function run(source: string): Promise<void> {
  lines = 0;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    const { default: result } = await import(/* @vite-ignore */ url);
    if (result !== undefined) print({ kind: "result", text: describe(await result) });
  } catch (error) {
    // Also after more lines than are shown.
    send({ line: describeError(error) });
  } finally {
    URL.revokeObjectURL(url);
    send({ hasEnded: true });
  }
}
