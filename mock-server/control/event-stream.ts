import type { Clock } from "../time/clock.ts";
import type { NumberedActivity, World } from "../world/world.ts";

// Sends all activities to every subscriber. An id is `<epoch>-<sequence>`, so it stays unique over a reset. A subscriber
// that lost its connection sends the last id that it received and gets the activities since then. If they are no longer
// kept, or belong to another epoch, it gets one `stream.restarted` and must read the state again.

/** Activities kept for subscribers that reconnect. */
const keptMax = 10_000;
/** A reader that has this many characters unread is cut off; it comes back with its last id. */
const unreadCharsMax = 4 * 1_048_576;
const heartbeatMs = 15_000;

export interface EventStream {
  /** A reader's stream. `lastEventId` as the reader sent it. */
  open(lastEventId: string | null, signal: AbortSignal): Response;
  /** Follows another world after a reset or restore. */
  follow(world: World): void;
  /** Ends every reader's stream. */
  close(): void;
}

type Entry = { readonly epoch: number; readonly sequence: number; readonly text: string };
type Reader = { send(text: string): void; end(): void };

export function createEventStream(first: World, wallClock: Clock): EventStream {
  const kept: Entry[] = [];
  const readers = new Set<Reader>();
  let world = first;
  let stopListening: (() => void) | null = null;
  let stopHeartbeat: (() => void) | null = null;

  const take = (activity: NumberedActivity) => {
    const entry = toEntry(world.epoch, activity);
    kept.push(entry);
    if (kept.length > keptMax) kept.shift();
    for (const reader of [...readers]) reader.send(entry.text);
  };

  // Nothing is recorded before the first subscriber, so a mock without one has no cost.
  const start = () => {
    stopListening ??= world.subscribe(take);
    stopHeartbeat ??= heartbeat();
  };

  const heartbeat = (): (() => void) =>
    wallClock.schedule(heartbeatMs, () => {
      for (const reader of [...readers]) reader.send(": heartbeat\n\n");
      stopHeartbeat = heartbeat();
    });

  const missedBy = (lastEventId: string | null): string => {
    if (lastEventId === null) return "";
    const [epoch, sequence] = lastEventId.split("-").map(Number);
    const seen = kept.findIndex((entry) => entry.epoch === epoch && entry.sequence === sequence);
    const upToDate = epoch === world.epoch && kept.length === 0;
    if (seen === -1 && !upToDate) return restarted;
    return kept
      .slice(seen + 1)
      .map(({ text }) => text)
      .join("");
  };

  return {
    open(lastEventId, signal) {
      start();
      const { reader, response } = createReader(() => readers.delete(reader));
      signal.addEventListener("abort", reader.end, { once: true });
      reader.send(`retry: 1000\n\n${missedBy(lastEventId)}`);
      readers.add(reader);
      return response;
    },
    follow(next) {
      world = next;
      if (!stopListening) return;
      stopListening = world.subscribe(take);
      for (const reader of [...readers]) reader.send(restarted);
    },
    close() {
      stopListening?.();
      stopHeartbeat?.();
      for (const reader of [...readers]) reader.end();
    },
  };
}

// Events are not named in the stream: an `EventSource` hands only unnamed ones to `onmessage`, and a reader
// should not have to list every type there is. The type stands in the data.
const restarted = 'data: {"type":"stream.restarted"}\n\n';

function toEntry(epoch: number, activity: NumberedActivity): Entry {
  const { sequence, atMs, ...rest } = activity;
  const data = JSON.stringify({ ...rest, sequence, at: new Date(atMs).toISOString() });
  return {
    epoch,
    sequence,
    text: `id: ${epoch}-${sequence}\ndata: ${data}\n\n`,
  };
}

function createReader(left: () => void): { reader: Reader; response: Response } {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    left();
    controller.close();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      cancel() {
        ended = true;
        left();
      },
    },
    { highWaterMark: unreadCharsMax, size: (chunk) => chunk.length },
  );
  const reader: Reader = {
    send(text) {
      if (ended) return;
      if ((controller.desiredSize ?? 0) <= 0) return end();
      controller.enqueue(encoder.encode(text));
    },
    end,
  };
  const response = new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" },
  });
  return { reader, response };
}
