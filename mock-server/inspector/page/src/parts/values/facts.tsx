import { type ComponentChildren, Fragment } from "preact";
import { CopyButton } from "../controls/copy-button.tsx";
import "./facts.css";

/** Names with values; one without a value is left out. */
export const Facts = ({ values }: { readonly values: Readonly<Record<string, ComponentChildren>> }) => (
  <dl class="facts">
    {Object.entries(values).map(
      ([name, value]) =>
        value && (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
);

interface CopiedProps {
  readonly value: string;
  /** What it is. Default: the value. */
  readonly name?: string | undefined;
  readonly href?: string | undefined;
}

/** A whole id, key or URL with a button that copies it. */
export const Copied = ({ value, name, href }: CopiedProps) => (
  <>
    <span class="mono">{href ? <a href={href}>{value}</a> : value}</span>{" "}
    <CopyButton label="Copy" name={`Copy ${name ?? value}`} text={value} class="quiet" />
  </>
);
