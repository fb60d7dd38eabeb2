// Server-sent events of all activity. Nothing is kept for readers that disconnect: one that returns with the id of an event
// receives `stream.restarted`, as after a reset, and must read the state again. Ids are `<epoch>-<sequence>`, so they stay
// unique over a reset.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isoTime } from "../time/duration.ts";
import type { NumberedActivity } from "../world/world.ts";
import type { WorldHolder } from "../world/world-holder.ts";

/** A reader with this many unread characters is disconnected; it can reconnect. */
const unreadCharsMax = 4 * 1_048_576;
const heartbeatMs = 15_000;

export interface EventStream {
  /** A reader's stream. `lastEventId` as the reader sent it; `null` for its first connection. */
  open(lastEventId: string | null, signal: AbortSignal): Response;
  /** Ends every reader's stream. */
  close(): void;
}

interface Reader {
  send(text: string): void;
  end(): void;
}

export function createEventStream(worlds: WorldHolder, wallClock: Clock): EventStream {
  const readers = new Set<Reader>();
  /** Empty without a reader: such a mock has no cost. */
  let stops: (() => void)[] = [];
  let stopHeartbeat = () => {};

  const sendAll = (text: string) => {
    for (const reader of [...readers]) reader.send(text);
  };
  const scheduleHeartbeat = (): void => {
    const beat = () => {
      sendAll(": heartbeat\n\n");
      // It disconnects a reader that has read nothing for long, maybe the last one.
      if (readers.size > 0) scheduleHeartbeat();
    };
    stopHeartbeat = wallClock.schedule(heartbeatMs, beat, { background: true });
  };
  const start = () => {
    stops = [
      worlds.subscribe((activity) => sendAll(toText(worlds.current.epoch, activity))),
      worlds.onReplace(() => sendAll(restarted)),
    ];
    scheduleHeartbeat();
  };
  const stop = () => {
    for (const stop of stops) stop();
    stops = [];
    stopHeartbeat();
  };

  return {
    open(lastEventId, signal) {
      if (readers.size === 0) start();
      const { reader, response } = createReader(() => {
        if (readers.delete(reader) && readers.size === 0) stop();
      });
      signal.addEventListener("abort", reader.end, { once: true });
      reader.send(`retry: 1000\n\n${lastEventId === null ? "" : restarted}`);
      readers.add(reader);
      return response;
    },
    close() {
      for (const reader of [...readers]) reader.end();
    },
  };
}

// The type is in the data and not in an `event` field: an `EventSource` passes named events only to listeners of that
// name, and a reader would have to list all of them.
const restarted = 'data: {"type":"stream.restarted"}\n\n';

function toText(epoch: number, { sequence, atMs, ...activity }: NumberedActivity): string {
  const data = JSON.stringify({ ...activity, sequence, at: isoTime(atMs) });
  return `id: ${epoch}-${sequence}\ndata: ${data}\n\n`;
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
