import type { ComponentChildren } from "preact";
import { useKey } from "./keys.ts";

type Props = {
  /** What the list is of: `tasks`. */
  readonly of: string;
  readonly list: ComponentChildren;
  /** `null` while nothing is chosen. */
  readonly detail: ComponentChildren | null;
  readonly onClose: () => void;
};

/** A list and what is chosen in it; side by side, or one in place of the other on a narrow screen. */
export function Split({ of, list, detail, onClose }: Props) {
  useKey("Escape", onClose);
  return (
    <div class={`split ${detail ? "chosen" : ""}`}>
      {list}
      {detail ? (
        <section class="detail" aria-label="What is chosen">
          <button type="button" class="quiet back" onClick={onClose}>
            ‹ All {of}
          </button>
          {detail}
        </section>
      ) : (
        <div class="nothing unchosen">
          Choose a row, or press <kbd>j</kbd>.
        </div>
      )}
    </div>
  );
}
