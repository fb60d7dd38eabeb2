import { diffLines } from "../line-diff.ts";
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
          {diffLines(left, right).map((pair, index) => (
            <tr key={`${index}`}>
              <Line text={pair.left} tone="good" differs={pair.left !== pair.right} />
              <Line text={pair.right} tone="bad" differs={pair.left !== pair.right} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
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
