import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Runs actions of the user one at a time and shows the mock's words when one is refused. */
export function useAction() {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setRefusal(null);
    try {
      await work();
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const notice = refusal && (
    <p class="notice bad" role="alert">
      {refusal}
    </p>
  );
  return { busy, run, notice };
}

type ButtonProps = {
  readonly action: ReturnType<typeof useAction>;
  readonly onRun: () => Promise<unknown>;
  readonly class?: string;
  readonly label?: string;
  readonly children: ComponentChildren;
};

export function ActionButton({ action, onRun, class: style, label, children }: ButtonProps) {
  return (
    <button
      type="button"
      class={style}
      aria-label={label}
      disabled={action.busy}
      onClick={() => void action.run(onRun)}
    >
      {children}
    </button>
  );
}
