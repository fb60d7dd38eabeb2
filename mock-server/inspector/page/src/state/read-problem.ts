import { useEffect, useState } from "preact/hooks";

// Why a part of the page is missing or old, although the mock is there: it rejected a read, did not respond in time, or
// something else responded in its place.

const problems = new Map<object, string>();
const listeners = new Set<() => void>();

const latest = (): string | null => [...problems.values()].at(-1) ?? null;

/** @param problem `null`: the last read succeeded, or its reader left the page */
export function setReadProblem(reader: object, problem: string | null): void {
  if (problem === (problems.get(reader) ?? null)) return;
  if (problem === null) problems.delete(reader);
  else problems.set(reader, problem);
  for (const listener of listeners) listener();
}

/** The latest problem that still exists. */
export function useReadProblem(): string | null {
  const [problem, setProblem] = useState(latest);
  useEffect(() => {
    const listener = () => setProblem(latest());
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return problem;
}
