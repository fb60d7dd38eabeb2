import { useTemporary } from "./use-temporary.ts";

/** Copies a text, and shows for a moment whether the browser allowed it. */
export function CopyButton({ label, text }: { readonly label: string; readonly text: string }) {
  const [outcome, setOutcome] = useTemporary<string>(1_500);
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
