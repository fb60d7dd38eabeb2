import { useEffect, useRef, useState } from "preact/hooks";
import { versionOf } from "./live.ts";
import { useLive } from "./store.ts";

/** The control API, relative to the page at `/_mock/`. */
const control = "v1";

export class ControlError extends Error {
  override readonly name = "ControlError";
}

/** Asks the control API; a refusal comes back as an error in the mock's own words. */
export async function ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${control}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer: unknown = text === "" ? undefined : JSON.parse(text);
  if (!response.ok)
    throw new ControlError(describeRefusal(answer) ?? `${method} ${path}: ${response.status}`);
  return answer as Answer;
}

function describeRefusal(answer: unknown): string | undefined {
  const { error } = (answer ?? {}) as {
    error?: { message?: string; issues?: readonly { path?: string; message?: string }[] };
  };
  if (!error?.message) return undefined;
  const issues = error.issues?.map(({ path, message }) => `${path ?? ""} ${message ?? ""}`.trim());
  return issues?.length ? `${error.message}: ${issues.join("; ")}` : error.message;
}

/** Readings begin at least this far apart, and a slow one slows the next: half of the time stays free. */
const pauseMsMin = 200;

/**
 * An answer of the control API, read anew when one of `nouns` changes. `null` as path reads nothing.
 * `undefined` until the first answer is there.
 */
export function useResource<Answer>(path: string | null, nouns: readonly string[]): Answer | undefined {
  const version = useLive((state) => versionOf(state, nouns));
  const [held, setHeld] = useState<{ path: string; answer: Answer } | undefined>();
  const reading = useRef({ busy: false, wanted: "", nextAtMs: 0 });

  useEffect(() => {
    if (path === null) return;
    const wanted = `${path} ${version}`;
    let timer = 0;
    const read = async () => {
      const own = reading.current;
      if (own.busy) {
        timer = window.setTimeout(read, 50);
        return;
      }
      own.busy = true;
      const startedAtMs = performance.now();
      try {
        const answer = await ask<Answer>("GET", path);
        if (own.wanted === wanted || own.wanted.startsWith(`${path} `)) setHeld({ path, answer });
      } catch {
        setHeld(undefined); // The row is gone, or the mock is: the view then says that there is nothing.
      } finally {
        own.busy = false;
        const tookMs = performance.now() - startedAtMs;
        own.nextAtMs = performance.now() + Math.max(pauseMsMin, tookMs);
      }
    };
    const samePath = reading.current.wanted.startsWith(`${path} `);
    reading.current.wanted = wanted;
    timer = window.setTimeout(read, samePath ? Math.max(0, reading.current.nextAtMs - performance.now()) : 0);
    return () => clearTimeout(timer);
  }, [path, version]);

  return held && held.path === path ? held.answer : undefined;
}
