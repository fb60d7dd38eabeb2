import { type ComponentChildren, createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { useLive } from "../../state/store.ts";
import { Notice } from "../status/status.tsx";
import { Button, type ButtonProps } from "./button.tsx";
import { useKeys } from "./keys.ts";
import { useTemporary } from "./use-temporary.ts";

type Work = () => unknown;

const Runner = createContext({ isBusy: false, run: async (_: Work) => {} });

interface ActionsProps {
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A line of buttons, which act one at a time; why an action was rejected is shown at its end. */
export function Actions({ class: style = "tools", children }: ActionsProps) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const run = async (work: Work) => {
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
  return (
    <Runner.Provider value={{ isBusy, run }}>
      <div class={style}>
        {children}
        {failure && (
          <Notice tone="bad" isAlert>
            {failure} <Button label="✕" name="✕, dismiss" class="quiet" onClick={() => setFailure(null)} />
          </Notice>
        )}
      </div>
    </Runner.Provider>
  );
}

interface ActionButtonProps extends ButtonProps {
  readonly onRun: Work;
  /** A key that does the same. */
  readonly shortcut?: string | undefined;
  /**
   * For what cannot be undone, or has an effect outside of the mock: the first press asks, a second one confirms; a
   * double click only asks.
   */
  readonly asksFirst?: boolean | undefined;
  readonly disabled?: boolean | undefined;
}

/** A button of `Actions`. A disabled one would lose the focus: while an action runs, presses are ignored. */
export function ActionButton({ onRun, shortcut, name, asksFirst, ...props }: ActionButtonProps) {
  const { isBusy, run } = useContext(Runner);
  // Without a mock no action can succeed.
  const isLost = useLive((state) => state.connection === "lost");
  const disabled = isLost || props.disabled;
  const [asked, setAsked] = useTemporary<true>(4_000);
  const press = (clicks = 1) => {
    if (isBusy || disabled || (asksFirst && clicks > 1)) return;
    setAsked(asksFirst && !asked ? true : null);
    if (asked || !asksFirst) void run(onRun);
  };
  useKeys(shortcut ? { [shortcut]: press } : {});
  return (
    <button
      type="button"
      class={props.class}
      aria-label={asked ? undefined : name}
      aria-disabled={isBusy || undefined}
      disabled={disabled}
      onClick={({ detail: clicks }) => press(clicks)}
    >
      {asked ? "Press again to confirm" : props.label}
    </button>
  );
}
