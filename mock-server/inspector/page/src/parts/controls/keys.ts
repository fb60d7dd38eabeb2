import { useLayoutEffect } from "preact/hooks";

/** Whether a key press is input of a field, not of the page. */
function isTyping(event: KeyboardEvent): boolean {
  // An editor in a shadow tree is not the target, but the first of the path.
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  return /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest("dialog") !== null;
}

/** Calls what belongs to a key when it is pressed outside of fields, or to `Mod-` and a key wherever it is pressed. */
export function useKeys(actions: Readonly<Record<string, (() => void) | undefined>>): void {
  // With the page that is drawn, and not after its next frame: keys act on the rows that are shown.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isMod = event.ctrlKey || event.metaKey;
      const action = actions[`${isMod ? "Mod-" : ""}${event.key}`];
      if (!action || event.altKey || (!isMod && isTyping(event))) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
}
