import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";
import { RunningProgram } from "../../support/running-program.ts";

const entry = fileURLToPath(new URL("../../support/body-memory-program.ts", import.meta.url));
const heapMb = 96;

let program: RunningProgram;
let ports: Readonly<Record<string, number>>;

beforeAll(async () => {
  program = new RunningProgram([
    ...["--expose-gc", `--max-old-space-size=${heapMb}`],
    ...(await bundledProgram(entry)),
  ]);
  const [, json = ""] = await program.said(/^ports (.*)$/m);
  ports = JSON.parse(json);
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
async function sendBytes(
  port: number | undefined,
  path: string,
  bytes: number,
  chunkBytes: number,
): Promise<Socket> {
  const socket = connect(port ?? 0, "127.0.0.1");
  socket.on("error", () => {});
  const headers = [
    ...[`POST ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, "content-type: application/json"],
    ...[
      "webhook-id: a",
      `webhook-timestamp: ${Math.floor(Date.now() / 1_000)}`,
      "webhook-signature: v1,AAAA",
    ],
    ...["Transfer-Encoding: chunked", "", ""],
  ];
  socket.write(headers.join("\r\n"));
  const thousand = `${chunkBytes.toString(16)}\r\n${"x".repeat(chunkBytes)}\r\n`.repeat(1_000);
  for (let sent = 0; sent < bytes; sent += 1_000 * chunkBytes)
    await new Promise<void>((resolve) => void socket.write(thousand, () => resolve()));
  return socket;
}

/** Bytes that the process keeps for such a body, once it has read what was sent. */
async function kept(
  port: number | undefined,
  path: string,
  bytes: number,
  chunkBytes: number,
): Promise<number> {
  const before = await memory();
  const socket = await sendBytes(port, path, bytes, chunkBytes);
  let last = -1;
  let now = await memory();
  while (Math.abs(now - last) > 10_000) {
    await pause(100);
    [last, now] = [now, await memory()];
  }
  socket.destroy();
  return now - before;
}

/** The smallest on average that a receiver reads. */
const smallest = 16;

describe.sequential("a body in tiny chunks", () => {
  it.each([
    ["middleware", "/webhooks", 1_000_000, smallest],
    ["fetch", "/webhooks", 1_000_000, smallest],
    ["verifyWebhook", "/webhooks", 1_000_000, smallest],
    ["mock", "/graphql", 200_000, 1],
  ])("takes about its size in memory: %s %s", async (name, path, bytes, chunkBytes) => {
    expect(await kept(ports[name], path, bytes, chunkBytes)).toBeLessThan(3 * bytes + 6_000_000);
  });

  it.each([
    [100_000, 1],
    [1_000_000, smallest],
  ])(
    "would take many times its size in a list of its chunks: %d bytes in chunks of %d",
    async (bytes, chunkBytes) => {
      expect(await kept(ports["list"], "/", bytes, chunkBytes)).toBeGreaterThan(3 * bytes + 6_000_000);
    },
  );
});
