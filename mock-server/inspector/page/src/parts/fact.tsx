import type { ComponentChildren } from "preact";

interface Props {
  readonly name: ComponentChildren;
  readonly mono?: boolean;
  readonly children: ComponentChildren;
}

/** A line of a `facts` list; none without a value. */
export function Fact({ name, mono = false, children }: Props) {
  if (!children) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd class={mono ? "mono" : undefined}>{children}</dd>
    </>
  );
}
