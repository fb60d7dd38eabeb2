import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useLive } from "../../state/store.ts";
import { Notice } from "../status/notice.tsx";
import { useTemporary } from "./use-temporary.ts";

/** Runs actions of the user one at a time and shows why one was rejected. */
export function useAction() {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setFailure(null);
    try {
      await work();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const notice = failure && (
    <Notice tone="bad" isAlert>
      {failure}{" "}
      <button type="button" class="quiet" aria-label="dismiss" onClick={() => setFailure(null)}>
        ✕
      </button>
    </Notice>
  );
  return { busy, run, notice };
}

/** A disabled button would lose the focus, and the keyboard its place: while an action runs, presses are ignored. */
const pressable = (action: Action, press: () => void) => ({
  "aria-disabled": action.busy || undefined,
  onClick: () => {
    if (!action.busy) press();
  },
});

/** Without a mock no action can succeed. */
const useIsLost = () => useLive((state) => state.connection === "lost");

export type Action = ReturnType<typeof useAction>;

interface ButtonProps {
  readonly action: Action;
  readonly onRun: () => Promise<unknown>;
  readonly class?: string | undefined;
  readonly label?: string | undefined;
  readonly disabled?: boolean | undefined;
  readonly children: ComponentChildren;
}

export function ActionButton({ action, onRun, class: style, label, disabled, children }: ButtonProps) {
  const isLost = useIsLost();
  return (
    <button
      type="button"
      class={style}
      aria-label={label}
      disabled={isLost || disabled}
      {...pressable(action, () => void action.run(onRun))}
    >
      {children}
    </button>
  );
}

/** For what cannot be undone: the first press asks, a second one confirms; both presses of a double click only ask. */
export function ConfirmButton({ action, onRun, label, children }: ButtonProps) {
  const isLost = useIsLost();
  const [asked, setAsked] = useTemporary<true>(4_000);
  const press = ({ detail: clicks }: MouseEvent) => {
    if (action.busy || clicks > 1) return;
    setAsked(asked ? null : true);
    if (asked) void action.run(onRun);
  };
  return (
    <button
      type="button"
      class="toned tone-bad"
      aria-label={asked ? undefined : label}
      aria-disabled={action.busy || undefined}
      disabled={isLost}
      onClick={press}
    >
      {asked ? "Press again to confirm" : children}
    </button>
  );
}
