import type { ComponentChildren } from "preact";
import "./items.css";

interface Props {
  readonly class?: string | undefined;
  readonly children: ComponentChildren;
}

/** A short list of one-line items. */
export function Items({ class: more, children }: Props) {
  return <ul class={more ? `items ${more}` : "items"}>{children}</ul>;
}
