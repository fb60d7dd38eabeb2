import type { ComponentChildren } from "preact";
import type { Tone } from "./status-badge.tsx";
import "./notice.css";

interface Props {
  readonly tone: Tone;
  /** Read aloud at once. */
  readonly isAlert?: boolean;
  /** Of a finding. */
  readonly code?: string;
  readonly children: ComponentChildren;
}

/** A message in the colour of its tone. */
export function Notice({ tone, isAlert = false, code, children }: Props) {
  return (
    <div class={`notice tone-${tone}`} role={isAlert ? "alert" : undefined} data-code={code}>
      {children}
    </div>
  );
}
