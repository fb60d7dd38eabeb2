import type { ComponentChildren } from "preact";
import "./segments.css";

/** Buttons that share one border. */
export function Segments({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    <fieldset class="segments" aria-label={label}>
      {children}
    </fieldset>
  );
}
