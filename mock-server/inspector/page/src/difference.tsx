import { structuredPatch } from "diff";
import { useMemo } from "preact/hooks";

interface Props {
  readonly label: string;
  readonly from: string;
  readonly to: string;
  /** Equal lines that are shown around the others. Default: 3. */
  readonly context?: number;
}

/** Lines that were added or removed, at most: the search takes time quadratic in them. */
const changedLinesMax = 2_000;

const tones: Readonly<Record<string, string>> = { "-": "tone-bad", "+": "tone-good" };

/** Lines that only one of two texts has, marked `-` and `+`, with some equal ones around them. */
export function Difference({ label, from, to, context = 3 }: Props) {
  const lines = useMemo(() => changedLines(from, to, context), [from, to, context]);
  if (!lines) return <p>The two have more than {changedLinesMax} lines that differ.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must do so from the keyboard too.
    <section aria-label={label} tabIndex={0}>
      <pre class="difference">
        {lines.map((line, index) => (
          <span key={`${index}`} class={tones[line.charAt(0)]}>
            {tones[line.charAt(0)] ? visible(line) : line}
          </span>
        ))}
      </pre>
    </section>
  );
}

function changedLines(from: string, to: string, context: number): readonly string[] | undefined {
  const options = { context, maxEditLength: changedLinesMax };
  const patch = structuredPatch("", "", `${from}\n`, `${to}\n`, "", "", options);
  return patch?.hunks.flatMap(({ lines }, index) => (index === 0 ? lines : ["…", ...lines]));
}

/** White space at the ends of a line is what often differs. */
const visible = (line: string) =>
  line
    .replace(/\t/g, "⇥")
    .replace(/\r/g, "␍")
    .replace(/\uFEFF/g, "⟨BOM⟩")
    .replace(/ +$/, (spaces) => "·".repeat(spaces.length));
