import type { ActivitySource } from "@workspace-tasks/page-parts/state.ts";

/** Reads a stream of server-sent events as `EventSource` does; it is closed at its end, and its user opens another. */
export function openActivity(open: () => Promise<Response>): ActivitySource {
  let reader: ReadableStreamDefaultReader<string> | undefined;
  const source: { -readonly [Name in keyof ActivitySource]: ActivitySource[Name] } = {
    onopen: null,
    onmessage: null,
    onerror: null,
    readyState: EventSource.CONNECTING,
    close() {
      source.readyState = EventSource.CLOSED;
      void reader?.cancel();
    },
  };
  const emit = (type: "open" | "message" | "error", data?: string) =>
    source[`on${type}`]?.call(source as EventSource, new MessageEvent(type, { data }));
  const read = async () => {
    const { body } = await open();
    if (!body || source.readyState === EventSource.CLOSED) return body?.cancel();
    reader = body
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .getReader();
    source.readyState = EventSource.OPEN;
    emit("open");
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const blocks = `${text}${part.value}`.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data !== undefined) emit("message", data);
      }
    }
  };
  const end = () => {
    if (source.readyState === EventSource.CLOSED) return;
    source.readyState = EventSource.CLOSED;
    emit("error");
  };
  read().then(end, end);
  return source;
}
