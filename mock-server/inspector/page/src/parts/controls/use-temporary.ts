import { useEffect, useState } from "preact/hooks";

/** A value that is `null` again some time after it was set. */
export function useTemporary<Value>(durationMs: number) {
  const [value, setValue] = useState<Value | null>(null);
  useEffect(() => {
    if (value === null) return;
    const timer = setTimeout(() => setValue(null), durationMs);
    return () => clearTimeout(timer);
  }, [value]);
  return [value, setValue] as const;
}
