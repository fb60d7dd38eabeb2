import type { Tone } from "./status.tsx";
import "./legend.css";

interface Entry {
  readonly name: string;
  readonly tone: Tone;
  readonly count: number;
  /** The list of those alone. */
  readonly href: string;
}

/** What the colours of a picture are, with numbers. */
export const Legend = ({ entries }: { readonly entries: readonly Entry[] }) => (
  <ul class="legend">
    {entries.map(({ name, tone, count, href }) => (
      <li key={name}>
        <a href={href} class={count === 0 ? "muted" : undefined}>
          <i class={`tone-${tone}`} aria-hidden="true" />
          {name} <b>{count}</b>
        </a>
      </li>
    ))}
  </ul>
);
