import type { ComponentChildren } from "preact";
import "./status.css";

export type Tone = "run" | "good" | "bad" | "wait" | "calm";

interface StatusText {
  readonly tone: Tone;
  /** Default: its name in the control API. */
  readonly label?: string;
  /** What it means, where the word is not enough. */
  readonly about?: string;
}

const statuses: Readonly<Record<string, StatusText>> = {
  RUNNING: { tone: "run" },
  COMPLETED: { tone: "good" },
  FAILED: { tone: "bad" },
  succeeded: { tone: "good" },
  limited: { tone: "wait" },
  rejected: { tone: "bad" },
  faulty: { tone: "run" },
  healthy: { tone: "good" },
  unstable: { tone: "wait" },
  failing: { tone: "bad" },
  paused: { tone: "wait" },
  current: { tone: "good" },
  grace: { tone: "wait" },
  expired: { tone: "bad" },
  duplicate: { tone: "wait" },
  replay: { tone: "run" },
};

/** Those of deliveries, in the words of the page; the help lists them. */
export const deliveryStatuses: Readonly<Record<string, Required<StatusText>>> = {
  succeeded: { tone: "good", label: "delivered", about: "the receiver responded with 2xx" },
  rejected: { tone: "bad", label: "rejected", about: "the last response was not 2xx; it is tried again" },
  unanswered: {
    tone: "bad",
    label: "no response",
    about: "the last attempt was refused, cut or too slow; it is tried again",
  },
  pending: { tone: "wait", label: "waiting", about: "no attempt has ended yet" },
  paused: { tone: "wait", label: "paused", about: "its endpoint is paused" },
  failed: { tone: "bad", label: "gave up", about: "no attempt of the schedule was accepted" },
  cancelled: { tone: "calm", label: "cancelled", about: "its endpoint was deleted" },
};

export const toneOf = (status: string): Tone =>
  (statuses[status] ?? deliveryStatuses[status])?.tone ?? "calm";

/** A status in its colour. The word is always visible; the colour only repeats it. */
export function StatusBadge({ status, tone, of }: BadgeProps) {
  const { label = status, about } = of?.[status] ?? {};
  return (
    <span class={`badge tone-${tone ?? toneOf(status)}`} title={about}>
      {label}
    </span>
  );
}

interface BadgeProps {
  readonly status: string;
  readonly tone?: Tone | undefined;
  /** Texts of its kind. */
  readonly of?: Readonly<Record<string, StatusText>>;
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
