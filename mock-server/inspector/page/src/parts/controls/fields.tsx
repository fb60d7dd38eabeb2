import type { TargetedInputEvent } from "preact";

export type Options = readonly (string | { readonly value: string; readonly text: string })[];

export const valuesOf = (options: Options): readonly string[] =>
  options.map((option) => (typeof option === "string" ? option : option.value));

interface SelectProps {
  readonly label: string;
  readonly value: string;
  /** Text of the empty choice, if there is one. */
  readonly every?: string | undefined;
  readonly options: Options;
  readonly class?: string | undefined;
  /** Whether the key `f` moves the focus here. */
  readonly isFilter?: boolean | undefined;
  readonly onSelect: (value: string) => void;
}

export function Select({ label, value, every, options, class: style, isFilter, onSelect }: SelectProps) {
  return (
    <select
      data-filter={isFilter || undefined}
      aria-label={label}
      class={style}
      value={value}
      onChange={(event) => onSelect(event.currentTarget.value)}
    >
      {every && <option value="">{every}</option>}
      {options.map((option) => {
        const { value, text } = typeof option === "string" ? { value: option, text: option } : option;
        return (
          <option key={value} value={value}>
            {text}
          </option>
        );
      })}
    </select>
  );
}

/** A choice with its label above it. */
export const SelectField = (props: SelectProps) => (
  <label>
    {props.label}
    <Select {...props} />
  </label>
);

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly type?: "text" | "url" | "password";
  readonly placeholder?: string;
  readonly class?: string;
  /** Of a text of several lines. */
  readonly rows?: number;
  readonly onInput: (value: string) => void;
}

/** A field with its label above it, for text that the browser must not correct. */
export function TextField({ label, rows, onInput, ...more }: TextFieldProps) {
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
