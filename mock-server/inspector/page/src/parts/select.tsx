interface Props {
  readonly label: string;
  readonly value: string;
  /** Text of the empty choice. */
  readonly every: string;
  readonly options: readonly (string | { readonly value: string; readonly text: string })[];
  readonly class?: string | undefined;
  /** Whether the key `/` moves the focus here. */
  readonly isFilter?: boolean | undefined;
  readonly onSelect: (value: string) => void;
}

export function Select({ label, value, every, options, class: style, isFilter, onSelect }: Props) {
  return (
    <select
      data-filter={isFilter}
      aria-label={label}
      class={style}
      value={value}
      onChange={(event) => onSelect(event.currentTarget.value)}
    >
      <option value="">{every}</option>
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
