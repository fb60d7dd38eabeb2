import { formatDuration } from "../../text/format.ts";
import type { Tone } from "./status.tsx";
import "./timeline.css";

export interface Span {
  readonly key: string;
  readonly label: string;
  readonly tone: Tone | "planned";
  readonly fromMs: number;
  /** `null`: in progress. */
  readonly toMs: number | null;
  readonly note: string;
}

interface Props {
  readonly label: string;
  readonly spans: readonly Span[];
  readonly nowMs: number;
}

/** Spans on one time axis, one per line. */
export function Timeline({ label, spans, nowMs }: Props) {
  if (spans.length === 0) return null;
  const startMs = Math.min(...spans.map(({ fromMs }) => fromMs));
  const endMs = Math.max(startMs + 1, ...spans.map(({ fromMs, toMs }) => toMs ?? Math.max(nowMs, fromMs)));
  const percentOf = (atMs: number) => ((atMs - startMs) / (endMs - startMs)) * 100;
  return (
    <ol class="timeline" aria-label={label}>
      {spans.map(({ key, label: name, tone, fromMs, toMs, note }) => {
        const until = toMs ?? Math.max(nowMs, fromMs);
        const left = Math.min(99, percentOf(fromMs));
        return (
          <li key={key}>
            <span class="name" title={name}>
              {name}
            </span>
            <span class="track">
              <span
                class={`span ${tone === "planned" ? tone : `tone-${tone}`}${toMs === null ? " open" : ""}`}
                style={{ left: `${left}%`, width: `${Math.max(0, percentOf(until) - left)}%` }}
              />
            </span>
            <span class="muted">{note}</span>
          </li>
        );
      })}
      <li class="axis" aria-hidden="true">
        <span />
        <span class="ends">
          <span>0</span>
          <span>{formatDuration(endMs - startMs)}</span>
        </span>
      </li>
    </ol>
  );
}
