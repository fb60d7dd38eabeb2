import { useMemo, useState } from "preact/hooks";
import { plural } from "../../text/format.ts";
import {
  bracketsOf,
  countValues,
  type JsonContainer,
  type JsonEntry,
  type JsonNode,
} from "../../text/json-node.ts";
import "./json-view.css";

/** A longer document starts with its inner values folded. */
const openValuesMax = 400;
/** Entries of one object or array that are drawn at once. */
const entriesPerStep = 100;
/** Characters of one string that are drawn at once. */
const stringCharsMax = 2_000;

/** JSON with colours; each object and array can be folded. */
export function JsonView({ node, label }: { readonly node: JsonNode; readonly label: string }) {
  const isLong = useMemo(() => countValues(node) > openValuesMax, [node]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must do so from the keyboard too.
    <section class="json mono" aria-label={label} tabIndex={0}>
      <Value entry={{ key: null, value: node }} depth={0} openDepth={isLong ? 2 : 100} isLast />
    </section>
  );
}

interface Props {
  readonly entry: JsonEntry;
  readonly depth: number;
  /** Deeper values start folded. */
  readonly openDepth: number;
  readonly isLast: boolean;
}

function Value(props: Props) {
  const { value } = props.entry;
  if (!("text" in value) && value.entries.length > 0) return <Container {...props} value={value} />;
  return (
    <div class="json-line">
      <Key {...props} />
      {"text" in value ? <Scalar text={value.text} /> : bracketsOf(value).join("")}
      {!props.isLast && ","}
    </div>
  );
}

const Key = ({ entry: { key } }: Props) => key !== null && <span class="key">{key}: </span>;

function Container({ value, ...props }: Props & { readonly value: JsonContainer }) {
  const { depth, openDepth, isLast } = props;
  const { entries } = value;
  const [isOpen, setOpen] = useState(depth < openDepth);
  const [shown, setShown] = useState(entriesPerStep);
  const [opening, closing] = bracketsOf(value);
  const hidden = entries.length - shown;
  const size = plural(entries.length, value.kind === "array" ? "item" : "field");
  const end = `${closing}${isLast ? "" : ","}`;
  return (
    <>
      <div class="json-line">
        <button
          type="button"
          class="fold"
          aria-expanded={isOpen}
          aria-label={`${props.entry.key ?? "value"}, ${size}`}
          onClick={() => setOpen(!isOpen)}
        />
        <Key {...props} />
        {opening}
        {!isOpen && (
          <>
            <span class="muted"> {size} </span>
            {end}
          </>
        )}
      </div>
      {isOpen && (
        <>
          <div class="json-entries">
            {entries.slice(0, shown).map((entry, index) => (
              <Value
                key={index}
                entry={entry}
                depth={depth + 1}
                openDepth={openDepth}
                isLast={index === entries.length - 1}
              />
            ))}
            {hidden > 0 && (
              <button type="button" class="quiet" onClick={() => setShown(shown + entriesPerStep)}>
                {Math.min(hidden, entriesPerStep)} more of {entries.length}
              </button>
            )}
          </div>
          <div class="json-line">{end}</div>
        </>
      )}
    </>
  );
}

function Scalar({ text }: { readonly text: string }) {
  const [whole, setWhole] = useState<string | null>(null);
  const tone = text.startsWith('"') ? "string" : "word";
  if (text.length <= stringCharsMax || whole === text) return <span class={tone}>{text}</span>;
  return (
    <>
      <span class={tone}>{text.slice(0, stringCharsMax)} … </span>
      <button type="button" class="quiet" onClick={() => setWhole(text)}>
        {text.length - stringCharsMax} more characters
      </button>
    </>
  );
}
