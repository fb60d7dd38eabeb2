export type Options = readonly (string | { readonly value: string; readonly text: string })[];

export const valuesOf = (options: Options): readonly string[] =>
  options.map((option) => (typeof option === "string" ? option : option.value));

interface Props {
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

export function Select({ label, value, every, options, class: style, isFilter, onSelect }: Props) {
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
export const SelectField = (props: Props) => (
  <label>
    {props.label}
    <Select {...props} />
  </label>
);
