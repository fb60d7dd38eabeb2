import type { ComponentChildren } from "preact";

export interface ButtonProps {
  readonly label: ComponentChildren;
  /** What it is called where its label alone is not clear. Default: the label. */
  readonly name?: string | undefined;
  readonly class?: string | undefined;
}

/** A button that changes the page alone. */
export const Button = ({ label, name, ...more }: ButtonProps & { readonly onClick: () => void }) => (
  <button type="button" aria-label={name} {...more}>
    {label}
  </button>
);

/** A link that looks like a button. */
export const LinkButton = ({ label, href }: { readonly label: string; readonly href: string }) => (
  <a class="button" href={href}>
    {label}
  </a>
);
