import type { ComponentChildren } from "preact";
import "./fact.css";

/** A list of names with values. */
export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

interface Props {
  readonly name: ComponentChildren;
  readonly mono?: boolean;
  readonly children: ComponentChildren;
}

/** A line of `Facts`; none without a value. */
export function Fact({ name, mono = false, children }: Props) {
  if (!children) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd class={mono ? "mono" : undefined}>{children}</dd>
    </>
  );
}
