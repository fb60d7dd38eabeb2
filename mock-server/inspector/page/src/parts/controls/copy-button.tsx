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

/** Copies a text. Over plain http from another host there is no clipboard, but a selected text can still be copied. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}
