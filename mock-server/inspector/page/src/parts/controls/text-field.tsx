import type { TargetedInputEvent } from "preact";

interface Props {
  readonly label: string;
  readonly value: string;
  readonly type?: "text" | "url" | "password";
  readonly placeholder?: string;
  readonly list?: string;
  readonly class?: string;
  /** Of a text of several lines. */
  readonly rows?: number;
  readonly onInput: (value: string) => void;
}

/** A field with its label above it, for text that the browser must not correct. */
export function TextField({ label, rows, onInput, ...more }: Props) {
  const attributes = {
    ...more,
    spellcheck: false,
    autocomplete: "off",
    onInput: (event: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      onInput(event.currentTarget.value),
  } as const;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: either of the two is its control.
    <label>
      {label}
      {rows === undefined ? <input {...attributes} /> : <textarea rows={rows} {...attributes} />}
    </label>
  );
}
