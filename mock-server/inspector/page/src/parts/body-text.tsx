import { useState } from "preact/hooks";
import { countBytes, formatBody, formatHex, plural } from "../format.ts";
import { CopyButton } from "./copy-button.tsx";
import { Segments } from "./segments.tsx";
import { TextBlock } from "./text-block.tsx";
import "./body-text.css";

const formats = {
  Exact: (text: string) => text,
  Indented: formatBody,
  Hex: formatHex,
} as const;

type Format = keyof typeof formats;

/** A body as it was sent, indented, or as a hex dump. */
export function BodyText({ label, text }: { readonly label: string; readonly text: string }) {
  const [format, setFormat] = useState<Format>("Indented");
  return (
    <div class="body-text">
      <div class="title-bar">
        <h4>
          {label} <span class="muted">{plural(countBytes(text), "byte")}</span>
        </h4>
        <Segments label={`${label} as`}>
          {(Object.keys(formats) as Format[]).map((name) => (
            <button key={name} type="button" aria-pressed={format === name} onClick={() => setFormat(name)}>
              {name}
            </button>
          ))}
        </Segments>
        <CopyButton label="Copy" text={text} />
      </div>
      <TextBlock hex={format === "Hex"}>{formats[format](text)}</TextBlock>
    </div>
  );
}
