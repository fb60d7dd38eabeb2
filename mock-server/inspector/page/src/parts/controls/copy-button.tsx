import { copyText } from "../../text/copy-text.ts";
import { useTemporary } from "./use-temporary.ts";

interface Props {
  readonly label: string;
  /** The text, or what creates it when the button is pressed. */
  readonly text: string | (() => string | Promise<string>);
  readonly class?: string | undefined;
  /** Default: the label. */
  readonly name?: string | undefined;
}

/** Copies a text, and shows for a moment whether the browser allowed it. */
export function CopyButton({ label, text, class: style, name }: Props) {
  const [outcome, setOutcome] = useTemporary<string>(2_500);
  const copy = async () => {
    try {
      const copied = await copyText(typeof text === "string" ? text : await text());
      setOutcome(copied ? "Copied" : "The browser did not allow it");
    } catch (error) {
      setOutcome(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <button
      type="button"
      class={style}
      aria-label={outcome ?? name}
      onClick={() => void copy()}
      aria-live="polite"
    >
      {outcome ?? label}
    </button>
  );
}
