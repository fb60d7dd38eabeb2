import { useMemo, useState } from "preact/hooks";
import { diffLines, foldEqual, type LinePair } from "../../signature/line-diff.ts";
import "./side-by-side.css";

interface Props {
  readonly label: string;
  readonly leftTitle: string;
  readonly rightTitle: string;
  readonly left: string;
  readonly right: string;
}

/** Two texts, line by line; the lines that differ are marked. */
export function SideBySide({ label, leftTitle, rightTitle, left, right }: Props) {
  const lines = useMemo(() => foldEqual(diffLines(left, right)), [left, right]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must do so from the keyboard too.
    <section class="side-by-side" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{leftTitle}</th>
            <th scope="col">{rightTitle}</th>
          </tr>
        </thead>
        <tbody>
          {lines
            .slice(0, linesMax)
            .map((line, index) =>
              "equalLines" in line ? (
                <EqualLines key={`${index}`} pairs={line.equalLines} />
              ) : (
                <Pair key={`${index}`} pair={line} />
              ),
            )}
          {lines.length > linesMax && (
            <tr>
              <td colSpan={2}>… {lines.length - linesMax} lines more</td>
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

/** Two bodies of megabytes that have nothing in common would stop the browser. */
const linesMax = 2_000;

const Pair = ({ pair: { left, right } }: { readonly pair: LinePair }) => (
  <tr>
    <Line text={left} tone="good" differs={left !== right} />
    <Line text={right} tone="bad" differs={left !== right} />
  </tr>
);

function EqualLines({ pairs }: { readonly pairs: readonly LinePair[] }) {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return pairs.slice(0, linesMax).map((pair, index) => <Pair key={`${index}`} pair={pair} />);
  return (
    <tr>
      <td colSpan={2} class="equal">
        <button type="button" class="quiet" onClick={() => setOpen(true)}>
          {pairs.length} equal lines
        </button>
      </td>
    </tr>
  );
}

interface LineProps {
  readonly text: string | null;
  readonly tone: "good" | "bad";
  readonly differs: boolean;
}

const Line = ({ text, tone, differs }: LineProps) =>
  text === null ? (
    <td class="absent" />
  ) : (
    <td class={differs ? `tone-${tone}` : undefined}>{visible(text, differs)}</td>
  );

/** White space at the ends of a line is what often differs. */
const visible = (text: string, differs: boolean) =>
  differs
    ? text
        .replace(/\t/g, "⇥")
        .replace(/\r/g, "␍")
        .replace(/\uFEFF/g, "⟨BOM⟩")
        .replace(/ +$/, (spaces) => "·".repeat(spaces.length))
    : text;
