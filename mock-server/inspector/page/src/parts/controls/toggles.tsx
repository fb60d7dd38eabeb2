import "./toggles.css";

interface Props<Name> {
  readonly label: string;
  readonly names: readonly Name[];
  readonly pressed: Name;
  readonly onPress: (name: Name) => void;
}

/** Buttons of which one is pressed. */
export const Toggles = <Name extends string>({ label, names, pressed, onPress }: Props<Name>) => (
  <fieldset class="segments" aria-label={label}>
    {names.map((name) => (
      <button key={name} type="button" aria-pressed={name === pressed} onClick={() => onPress(name)}>
        {name}
      </button>
    ))}
  </fieldset>
);
