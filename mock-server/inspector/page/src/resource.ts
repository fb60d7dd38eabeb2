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

type Reading<Answer> = {
  /** In place of a GET of the path. */
  readonly read?: () => Promise<Answer>;
  /** Another number: read anew although nothing has changed. */
  readonly revision?: number;
};

/**
 * An answer of the control API, read anew when one of `nouns` changes. A `null` path reads nothing.
 * `undefined` until the first answer is there, `null` when the mock says that there is no such thing. While
 * the mock does not answer at all, what is held stays.
 */
export function useResource<Answer>(
  path: string | null,
  nouns: readonly string[],
  { read = () => ask<Answer>("GET", path ?? ""), revision = 0 }: Reading<Answer> = {},
): Answer | null | undefined {
  const version = useLive((state) => versionOf(state, nouns));
  const [held, setHeld] = useState<{ path: string; answer: Answer | null } | undefined>();
  const reading = useRef({ busy: false, path: "", nextAtMs: 0 });

  useEffect(() => {
    if (path === null) return;
    const own = reading.current;
    const again = own.path === path;
    own.path = path;
    let timer = 0;
    const begin = async () => {
      if (own.busy) {
        timer = window.setTimeout(begin, 20);
        return;
      }
      own.busy = true;
      const startedAtMs = performance.now();
      const answer = await readOrNull(read);
      own.busy = false;
      own.nextAtMs = performance.now() + Math.max(pauseMsMin, performance.now() - startedAtMs);
      if (answer !== undefined && own.path === path) setHeld({ path, answer });
    };
    timer = window.setTimeout(begin, again ? Math.max(0, own.nextAtMs - performance.now()) : 0);
    return () => clearTimeout(timer);
  }, [path, version, revision]);

  return held && held.path === path ? held.answer : undefined;
}

async function readOrNull<Answer>(read: () => Promise<Answer>): Promise<Answer | null | undefined> {
  try {
    return await read();
  } catch (error) {
    return error instanceof ControlError ? null : undefined;
  }
}
