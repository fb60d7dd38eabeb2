// Server-sent events of all activity, with replay. Ids are `<epoch>-<sequence>`, so they stay unique over a reset. A
// reader that reconnects sends the last id that it got and receives what it missed. When that is too long ago or of
// another epoch, it receives one `stream.restarted`, and must read the state again.

import type { Clock } from "../../sdk/kernel/clock.ts";
import { isoTime } from "../time/iso-time.ts";
import type { NumberedActivity } from "../world/world.ts";
import type { WorldHolder } from "../world/world-holder.ts";

/** Activities kept for readers that reconnect. */
const keptMax = 10_000;
/** A reader with this many unread characters is disconnected; it can reconnect with its last id. */
const unreadCharsMax = 4 * 1_048_576;
const heartbeatMs = 15_000;
/** A reader that reconnects does so after a second. */
const returnWithinMs = 5_000;

export interface EventStream {
  /** A reader's stream. `lastEventId` as the reader sent it. */
  open(lastEventId: string | null, signal: AbortSignal): Response;
  /** Ends every reader's stream. */
  close(): void;
}

interface Entry {
  readonly id: string;
  readonly text: string;
}

interface Reader {
  send(text: string): void;
  end(): void;
}

export function createEventStream(worlds: WorldHolder, wallClock: Clock): EventStream {
  let kept: Entry[] = [];
  const readers = new Set<Reader>();
  /** Empty while nothing is kept. */
  let stops: (() => void)[] = [];
  let stopHeartbeat: (() => void) | null = null;
  let cancelStop: (() => void) | null = null;

  const sendAll = (text: string) => {
    for (const reader of [...readers]) reader.send(text);
  };
  const record = (activity: NumberedActivity) => {
    const entry = toEntry(worlds.current.epoch, activity);
    kept.push(entry);
    // Half of it at once, so that adding stays cheap.
    if (kept.length >= 2 * keptMax) kept = kept.slice(-keptMax);
    sendAll(entry.text);
  };
  const scheduleHeartbeat = (): (() => void) =>
    wallClock.schedule(
      heartbeatMs,
      () => {
        sendAll(": heartbeat\n\n");
        stopHeartbeat = scheduleHeartbeat();
      },
      { background: true },
    );

  // Nothing is kept before the first reader, nor when the last one does not return: a mock without readers has no cost.
  const start = () => {
    cancelStop?.();
    cancelStop = null;
    if (stops.length > 0) return;
    stops.push(
      worlds.subscribe(record),
      worlds.onReplace(() => sendAll(restarted)),
    );
    stopHeartbeat = scheduleHeartbeat();
  };

  const stop = () => {
    for (const stop of stops) stop();
    stops = [];
    kept = [];
    stopHeartbeat?.();
    cancelStop?.();
  };
  const remove = (reader: Reader) => {
    if (readers.delete(reader) && readers.size === 0) {
      cancelStop = wallClock.schedule(returnWithinMs, stop, { background: true });
    }
  };

  const missedSince = (lastEventId: string | null): string => {
    if (lastEventId === null) return "";
    const seen = kept.findIndex(({ id }) => id === lastEventId);
    if (seen === -1) return restarted;
    return kept
      .slice(seen + 1)
      .map(({ text }) => text)
      .join("");
  };

  return {
    open(lastEventId, signal) {
      start();
      const { reader, response } = createReader(() => remove(reader));
      signal.addEventListener("abort", reader.end, { once: true });
      reader.send(`retry: 1000\n\n${missedSince(lastEventId)}`);
      readers.add(reader);
      return response;
    },
    close() {
      for (const reader of [...readers]) reader.end();
      stop();
    },
  };
}

// The type is in the data and not in an `event` field: an `EventSource` passes named events only to listeners of that
// name, and a reader would have to list all of them.
const restarted = 'data: {"type":"stream.restarted"}\n\n';

function toEntry(epoch: number, { sequence, atMs, ...activity }: NumberedActivity): Entry {
  const id = `${epoch}-${sequence}`;
  const data = JSON.stringify({ ...activity, sequence, at: isoTime(atMs) });
  return { id, text: `id: ${id}\ndata: ${data}\n\n` };
}

function createReader(onEnd: () => void): { reader: Reader; response: Response } {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    onEnd();
    controller.close();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      cancel() {
        hasEnded = true;
        onEnd();
      },
    },
    { highWaterMark: unreadCharsMax, size: (chunk) => chunk.length },
  );
  const reader: Reader = {
    send(text) {
      if (hasEnded) return;
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
