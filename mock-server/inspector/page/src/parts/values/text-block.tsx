import { useState } from "preact/hooks";
import { plural } from "../../text/format.ts";

interface Props {
  readonly text: string;
  /** Marked, in front of the text. */
  readonly prefix?: string;
  readonly hex?: boolean;
}

/** Characters that are drawn at once: a browser needs seconds for a line of megabytes. */
const charsMax = 50_000;

/** Preformatted text that scrolls when it is long. */
export function TextBlock({ text, prefix, hex = false }: Props) {
  const [shownMax, setShownMax] = useState(charsMax);
  const hidden = text.length - shownMax;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must do so from the keyboard too. */}
      <pre class={hex ? "hex" : undefined} tabIndex={0}>
        {prefix && <mark class="tone-wait">{prefix}</mark>}
        {hidden > 0 ? text.slice(0, shownMax) : text}
      </pre>
      {hidden > 0 && (
        <div class="tools">
          <span class="muted">{plural(hidden, "character")} more.</span>
          <button type="button" onClick={() => setShownMax(shownMax * 4)}>
            Show more
          </button>
        </div>
      )}
    </>
  );
}
