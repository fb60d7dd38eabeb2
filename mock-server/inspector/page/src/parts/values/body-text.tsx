import { useMemo, useState } from "preact/hooks";
import { countBytes, formatHex, plural } from "../../text/format.ts";
import { parseJson } from "../../text/json-node.ts";
import { CopyButton } from "../controls/copy-button.tsx";
import { Toggles } from "../controls/toggles.tsx";
import { JsonView } from "./json-view.tsx";
import { TextBlock } from "./text-block.tsx";
import "./body-text.css";

const formats = ["Exact", "Indented", "Hex"] as const;

/** A body as it was sent, indented, or as a hex dump. */
export function BodyText({ label, text }: { readonly label: string; readonly text: string }) {
  const [format, setFormat] = useState<(typeof formats)[number]>("Indented");
  const bytes = useMemo(() => countBytes(text), [text]);
  const json = useMemo(() => parseJson(text), [text]);
  return (
    <div class="body-text">
      <div class="title-bar">
        <h4>
          {label} <span class="muted">{plural(bytes, "byte")}</span>
        </h4>
        <Toggles label={`${label} as`} names={formats} pressed={format} onPress={setFormat} />
        <CopyButton label="Copy" text={text} />
      </div>
      {format === "Hex" ? (
        <TextBlock hex text={formatHex(text)} />
      ) : format === "Indented" && json ? (
        <JsonView label={label} node={json} />
      ) : (
        <TextBlock text={text} />
      )}
    </div>
  );
}
