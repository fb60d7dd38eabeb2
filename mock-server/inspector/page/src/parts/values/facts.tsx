import { type ComponentChildren, Fragment } from "preact";
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
