import { useEffect, useState } from "preact/hooks";

/** Copies a text, and shows for a moment whether the browser allowed it. */
export function CopyButton({ label, text }: { readonly label: string; readonly text: string }) {
  const [outcome, setOutcome] = useState<string | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), 1_500);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setOutcome("Copied"),
      () => setOutcome("The browser did not allow it"),
    );
  return (
    <button type="button" onClick={() => void copy()} aria-live="polite">
      {outcome ?? label}
    </button>
  );
}
