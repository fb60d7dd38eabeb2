import { useMemo, useState } from "preact/hooks";
import { countBytes, formatHex, plural } from "../../text/format.ts";
import { indentJson } from "../../text/json.ts";
import { CopyButton } from "../controls/copy-button.tsx";
import { Toggles } from "../controls/toggles.tsx";
import { TextBlock } from "./text-block.tsx";
import "./body-text.css";

const formats = ["Exact", "Indented", "Hex"] as const;

/** A body as it was sent, indented, or as a hex dump. */
export function BodyText({ label, text }: { readonly label: string; readonly text: string }) {
  const [format, setFormat] = useState<(typeof formats)[number]>("Indented");
  const bytes = useMemo(() => countBytes(text), [text]);
  const indented = useMemo(() => indentJson(text), [text]);
  return (
    <section class="body-text" aria-label={label}>
      <div class="title-bar">
        <h4>
          {label} <span class="muted">{plural(bytes, "byte")}</span>
        </h4>
        <Toggles label={`${label} as`} names={formats} pressed={format} onPress={setFormat} />
        <CopyButton label="Copy" text={text} />
      </div>
      {format === "Hex" ? (
        <TextBlock hex text={formatHex(text)} />
      ) : (
        <TextBlock
          text={format === "Exact" ? text : (indented ?? text)}
          syntax={indented === null ? undefined : "json"}
        />
      )}
    </section>
  );
}

export const Truncated = () => (
  <p class="muted">The response was longer: only its start, up to here, was kept.</p>
);
