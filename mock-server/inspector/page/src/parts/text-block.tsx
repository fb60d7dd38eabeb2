import type { ComponentChildren } from "preact";

interface Props {
  readonly children: ComponentChildren;
  readonly hex?: boolean;
}

/** Preformatted text that scrolls when it is long. */
export function TextBlock({ children, hex = false }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must do so from the keyboard too.
    <pre class={hex ? "hex" : undefined} tabIndex={0}>
      {children}
    </pre>
  );
}
