import { formatDuration } from "../format.ts";

export type Span = {
  readonly key: string;
  readonly label: string;
  readonly tone: "run" | "good" | "bad" | "wait";
  readonly fromMs: number;
  /** `null`: still going on. */
  readonly toMs: number | null;
  readonly note: string;
};

/** Spans on one axis of time, each in its own line. */
export function Timeline({
  label,
  spans,
  nowMs,
}: {
  readonly label: string;
  readonly spans: readonly Span[];
  readonly nowMs: number;
}) {
  if (spans.length === 0) return null;
  const startMs = Math.min(...spans.map(({ fromMs }) => fromMs));
  const endMs = Math.max(startMs + 1, ...spans.map(({ fromMs, toMs }) => toMs ?? Math.max(nowMs, fromMs)));
  const place = (atMs: number) => ((atMs - startMs) / (endMs - startMs)) * 100;
  return (
    <ol class="timeline" aria-label={label}>
      {spans.map(({ key, label: name, tone, fromMs, toMs, note }) => {
        const until = toMs ?? Math.max(nowMs, fromMs);
        const left = Math.min(99, place(fromMs));
        return (
          <li key={key}>
            <span class="mono" title={name}>
              {name}
            </span>
            <span class="track" title={formatDuration(until - fromMs)}>
              <span
                class={`span ${tone}`}
                style={{ left: `${left}%`, width: `${Math.max(0, place(until) - left)}%` }}
              />
            </span>
            <span class="muted">{note}</span>
          </li>
        );
      })}
    </ol>
  );
}
