import { useState } from "preact/hooks";
import { countBytes, formatBody, formatHex, plural } from "../format.ts";
import { CopyButton } from "./copy-button.tsx";
import { TextBlock } from "./text-block.tsx";

const ways = {
  Exact: (text: string) => text,
  Indented: formatBody,
  Hex: formatHex,
} as const;

type Way = keyof typeof ways;

/** A body as it was sent, to the byte; indented or as bytes when asked for. */
export function BodyText({ label, text }: { readonly label: string; readonly text: string }) {
  const [way, setWay] = useState<Way>("Indented");
  return (
    <div class="body-text">
      <div class="head">
        <h4>
          {label} <span class="muted">{plural(countBytes(text), "byte")}</span>
        </h4>
        <fieldset class="segments" aria-label={`${label} as`}>
          {(Object.keys(ways) as Way[]).map((name) => (
            <button key={name} type="button" aria-pressed={way === name} onClick={() => setWay(name)}>
              {name}
            </button>
          ))}
        </fieldset>
        <CopyButton label="Copy" text={text} />
      </div>
      <TextBlock hex={way === "Hex"}>{ways[way](text)}</TextBlock>
    </div>
  );
}
