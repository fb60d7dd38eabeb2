import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

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

export type Action = ReturnType<typeof useAction>;

type ButtonProps = {
  readonly action: Action;
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

const secondThoughtsMs = 4_000;

/** For what cannot be taken back: the first press asks, the second one within a moment does it. */
export function ConfirmButton({ action, onRun, children }: ButtonProps) {
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked) return;
    const timer = setTimeout(() => setAsked(false), secondThoughtsMs);
    return () => clearTimeout(timer);
  }, [asked]);
  const press = () => {
    setAsked(!asked);
    if (asked) void action.run(onRun);
  };
  return (
    <button type="button" class="danger" disabled={action.busy} onClick={press}>
      {asked ? "Press again to confirm" : children}
    </button>
  );
}
