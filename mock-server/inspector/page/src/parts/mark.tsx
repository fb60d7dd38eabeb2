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
  answered: "good",
  refused: "bad",
  faulty: "wait",
  current: "good",
  grace: "wait",
  expired: "bad",
  duplicate: "wait",
  replay: "run",
};

export const toneOf = (status: string): Tone => tones[status] ?? "calm";

/** A status in its colour; the word itself always stands there, colour only repeats it. */
export function Mark({ status }: { readonly status: string }) {
  return <span class={`mark ${toneOf(status)}`}>{status}</span>;
}
