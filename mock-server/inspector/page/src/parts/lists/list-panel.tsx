import { type ComponentChildren, toChildArray } from "preact";

interface Props {
  readonly title: string;
  /** Text of the empty list. */
  readonly nothing?: string | false | null | undefined;
  readonly class?: string | undefined;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
}

/** A panel with a short list of one-line items. */
export function ListPanel({ title, nothing, class: style = "", children, footer }: Props) {
  return (
    <section class="panel">
      <h3>{title}</h3>
      {nothing && toChildArray(children).length === 0 && <p class="muted">{nothing}</p>}
      <ul class={`items ${style}`}>{children}</ul>
      {footer}
    </section>
  );
}
