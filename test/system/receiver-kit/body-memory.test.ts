import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";
import { RunningProgram } from "../../support/running-program.ts";

const entry = fileURLToPath(new URL("./body-memory-program.ts", import.meta.url));
const heapMb = 96;

let program: RunningProgram;
interface Target {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

let targets: Readonly<Record<string, Target>>;

beforeAll(async () => {
  program = new RunningProgram([
    ...["--expose-gc", `--max-old-space-size=${heapMb}`],
    ...(await bundledProgram(entry)),
  ]);
  const [, json = ""] = await program.said(/^targets (.*)$/m);
  targets = JSON.parse(json);
});
afterAll(() => program[Symbol.dispose]());

let asked = 0;

async function memory(): Promise<number> {
  asked += 1;
  program.write(`${asked}\n`);
  const [, bytes] = await program.said(new RegExp(`^memory ${asked}: (\\d+),`, "m"));
  return Number(bytes);
}

/** Sends a body in tiny chunks, and not its end: what is read of it stays in memory. */
async function sendBytes(target: Target, bytes: number, chunkBytes: number): Promise<Socket> {
  const { port, method, path } = target;
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  const headers = {
    host: `127.0.0.1:${port}`,
    "content-type": "application/json",
    "webhook-id": "a",
    "webhook-timestamp": Math.floor(Date.now() / 1_000),
    "webhook-signature": "v1,AAAA",
    "transfer-encoding": "chunked",
    ...target.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.write([`${method} ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
  const thousand = `${chunkBytes.toString(16)}\r\n${"x".repeat(chunkBytes)}\r\n`.repeat(1_000);
  for (let sent = 0; sent < bytes; sent += 1_000 * chunkBytes)
    await new Promise<void>((resolve) => void socket.write(thousand, () => resolve()));
  return socket;
}

/** The memory of the process once two readings in a row agree. It is waited at most ten seconds for `atLeast` bytes. */
async function settledMemory(atLeast = -Infinity): Promise<number> {
  const lastMs = performance.now() + 10_000;
  let last = -1;
  let now = await memory();
  while (Math.abs(now - last) > 10_000 || (now < atLeast && performance.now() < lastMs)) {
    await pause(100);
    [last, now] = [now, await memory()];
  }
  return now;
}

/** Bytes that the process keeps for such a body, once it has read what was sent. */
async function kept(name: string, bytes: number, chunkBytes: number, atLeast = -Infinity): Promise<number> {
  const target = targets[name];
  if (!target) throw new Error(`the program has no server ${name}`);
  const before = await settledMemory();
  const socket = await sendBytes(target, bytes, chunkBytes);
  const after = await settledMemory(before + atLeast);
  socket.destroy();
  return after - before;
}

/** The smallest on average that a receiver reads. */
const smallest = 16;

describe.sequential("a body in tiny chunks", () => {
  it.each([
    ["middleware", 1_000_000, smallest],
    ["fetch", 1_000_000, smallest],
    ["verifyWebhook", 1_000_000, smallest],
    ["mock", 200_000, 1],
    ["mock control", 200_000, 1],
    ["mock uploads", 900_000, 1],
  ])("takes about its size in memory: %s", async (name, bytes, chunkBytes) => {
    // The body of a fetch request is read as fast as its parts are taken, so most of it may still be on the way.
    const smallestSize = ["fetch", "mock control"].includes(name) ? -Infinity : bytes / 2;
    const size = await kept(name, bytes, chunkBytes, smallestSize);
    expect(size).toBeGreaterThanOrEqual(smallestSize);
    expect(size).toBeLessThan(3 * bytes + 6_000_000);
  });

  it.each([
    [100_000, 1],
    [1_000_000, smallest],
  ])(
    "would take many times its size in a list of its chunks: %d bytes in chunks of %d",
    async (bytes, chunkBytes) => {
      expect(await kept("list", bytes, chunkBytes)).toBeGreaterThan(3 * bytes + 6_000_000);
    },
  );
});
