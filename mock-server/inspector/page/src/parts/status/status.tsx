import type { ComponentChildren } from "preact";
import "./status.css";

export type Tone = "run" | "good" | "bad" | "wait" | "calm";

const tones: Readonly<Record<string, Tone>> = {
  RUNNING: "run",
  COMPLETED: "good",
  FAILED: "bad",
  pending: "wait",
  paused: "wait",
  succeeded: "good",
  failed: "bad",
  enabled: "good",
  rejected: "bad",
  faulty: "wait",
  current: "good",
  grace: "wait",
  expired: "bad",
  duplicate: "wait",
  replay: "run",
};

export const toneOf = (status: string): Tone => tones[status] ?? "calm";

/** A status in its colour. The word is always visible; the colour only repeats it. */
export function StatusBadge({ status, tone }: { readonly status: string; readonly tone?: Tone | undefined }) {
  return <span class={`badge tone-${tone ?? toneOf(status)}`}>{status}</span>;
}

interface NoticeProps {
  readonly tone: Tone;
  /** Read aloud at once. */
  readonly isAlert?: boolean;
  /** Of a finding. */
  readonly code?: string;
  readonly children: ComponentChildren;
}

/** A message in the colour of its tone. */
export function Notice({ tone, isAlert = false, code, children }: NoticeProps) {
  return (
    <div class={`notice tone-${tone}`} role={isAlert ? "alert" : undefined} data-code={code}>
      {children}
    </div>
  );
}
