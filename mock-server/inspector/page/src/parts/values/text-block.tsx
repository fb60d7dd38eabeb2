import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { plural } from "../../text/format.ts";
import { Button } from "../controls/button.tsx";
import "./text-block.css";

/** What is coloured; the name of a group is the class of its text. */
const syntaxes = {
  json: /(?<key>"[^"\\]*(?:\\.[^"\\]*)*"(?=\s*:))|(?<string>"[^"\\]*(?:\\.[^"\\]*)*"?)|(?<word>[^\s{}[\],:"]+)/gs,
  headers: /^(?<muted>[^:\n]+:)/gm,
};

interface Props {
  readonly text: string;
  /** Marked, in front of the text. */
  readonly prefix?: string;
  readonly hex?: boolean;
  readonly syntax?: keyof typeof syntaxes | undefined;
}

/** Characters that are drawn at once: a browser needs seconds for a line of megabytes. */
const charsMax = 50_000;

/** Preformatted text that scrolls when it is long. */
export function TextBlock({ text, prefix, hex = false, syntax }: Props) {
  const [shownMax, setShownMax] = useState(charsMax);
  const hidden = text.length - shownMax;
  const shown = hidden > 0 ? text.slice(0, shownMax) : text;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must do so from the keyboard too. */}
      <pre class={hex ? "hex" : undefined} tabIndex={0}>
        {prefix && <mark class="tone-wait">{prefix}</mark>}
        {syntax ? coloured(shown, syntaxes[syntax]) : shown}
      </pre>
      {hidden > 0 && (
        <div class="tools">
          <span class="muted">{plural(hidden, "character")} more.</span>
          <Button label="Show more" onClick={() => setShownMax(shownMax * 4)} />
        </div>
      )}
    </>
  );
}

function coloured(text: string, syntax: RegExp): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const { 0: token, index, groups = {} } of text.matchAll(syntax)) {
    const name = Object.keys(groups).find((group) => groups[group] !== undefined);
    parts.push(text.slice(end, index), <span class={name}>{token}</span>);
    end = index + token.length;
  }
  return [...parts, text.slice(end)];
}

export type HttpHeaders = Readonly<Record<string, string>>;

/** HTTP headers, one per line. */
export const linesOf = (headers: HttpHeaders): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

export const Headers = ({ headers }: { readonly headers: HttpHeaders }) => (
  <TextBlock syntax="headers" text={linesOf(headers) || "none"} />
);
