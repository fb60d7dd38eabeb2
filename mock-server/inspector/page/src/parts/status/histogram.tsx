import { useState } from "preact/hooks";
import { formatDuration, formatExact, formatTimeNear } from "../../text/format.ts";
import { Legend } from "./legend.tsx";
import type { Tone } from "./status.tsx";
import "./histogram.css";

/** As many as the control API is asked for. */
const slots = 60;

export interface Counts {
  readonly from: string;
  readonly barMs: number;
  readonly bars: readonly { readonly index: number; readonly counts: Readonly<Record<string, number>> }[];
}

interface Props {
  /** What is counted: `deliveries`. */
  readonly label: string;
  /** Not read yet, or no record: nothing is drawn. */
  readonly counts: Counts | null | undefined;
  /** From the bottom of a bar to its top. */
  readonly series: readonly Series[];
  readonly nowMs: number;
  readonly onRange: (range: { readonly from: string; readonly to: string }) => void;
}

export interface Series {
  readonly name: string;
  readonly tone: Tone;
  /** The list of those alone. */
  readonly href: string;
}

interface Selection {
  readonly anchor: number;
  readonly at: number;
}

/**
 * Counts over time, stacked. A range is selected by dragging, or with the arrow keys (and Shift) and Enter. What the
 * bars of the selection count is written above them.
 */
export function Histogram({ label, counts, series, nowMs, onRange }: Props) {
  const [selection, setSelection] = useState<Selection | null>(null);
  if (!counts || counts.bars.length === 0) return null;
  const [first, last] = selection ? boundsOf(selection) : [0, slots - 1];
  const atMs = (slot: number) => Date.parse(counts.from) + slot * counts.barMs;
  const totals = totalsOf(counts, series, first, last);
  const highest = Math.max(...counts.bars.map((bar) => sum(bar.counts)));
  const time = (slot: number) => formatTimeNear(atMs(slot), nowMs);
  const words = series.map(({ name }) => `${totals[name]} ${name}`).join(", ");
  const narrow = () => {
    if (selection) onRange({ from: iso(atMs(first)), to: iso(atMs(last + 1)) });
    setSelection(null);
  };
  return (
    <section class="histogram" aria-label={`${label} over time`}>
      <Legend entries={series.map((each) => ({ ...each, count: totals[each.name] ?? 0 }))} />
      <div
        class="bars"
        role="slider"
        tabIndex={0}
        aria-label={`Time of ${label}; Enter shows only the selected ones`}
        aria-valuemin={0}
        aria-valuemax={slots - 1}
        aria-valuenow={selection?.at ?? 0}
        aria-valuetext={`${time(first)} to ${time(last + 1)}: ${words}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          const at = slotAt(event);
          setSelection({ anchor: at, at });
        }}
        onPointerMove={(event) => {
          const at = slotAt(event);
          setSelection({ anchor: event.buttons === 0 || !selection ? at : selection.anchor, at });
        }}
        onPointerUp={narrow}
        onPointerLeave={() => setSelection(null)}
        onPointerCancel={() => setSelection(null)}
        onBlur={() => setSelection(null)}
        onKeyDown={(event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
          if (event.key === "Enter") narrow();
          else if (step === 0) return;
          else {
            const at = Math.max(0, Math.min(slots - 1, (selection?.at ?? -step) + step));
            setSelection({ anchor: event.shiftKey && selection ? selection.anchor : at, at });
          }
          event.preventDefault();
        }}
      >
        <svg viewBox={`0 0 ${slots} ${highest}`} preserveAspectRatio="none" aria-hidden="true">
          {selection && <rect class="selection" x={first} width={last - first + 1} height={highest} />}
          {counts.bars.flatMap(({ index, counts }) => {
            let top = highest;
            return series.map(({ name, tone }) => {
              const height = counts[name] ?? 0;
              top -= height;
              if (height === 0) return null;
              return (
                <rect
                  key={`${index} ${name}`}
                  class={`tone-${tone}`}
                  x={index + 0.08}
                  width={0.84}
                  y={top}
                  height={height}
                />
              );
            });
          })}
        </svg>
      </div>
      <div class="ends muted" aria-hidden="true">
        <span title={formatExact(atMs(0))}>{time(0)}</span>
        <span>
          {selection
            ? `${time(first)} – ${time(last + 1)}`
            : `highest bar ${highest}, each ${formatDuration(counts.barMs)}`}
        </span>
        <span title={formatExact(atMs(slots))}>{time(slots)}</span>
      </div>
    </section>
  );
}

const iso = (atMs: number) => new Date(atMs).toISOString();

const boundsOf = ({ anchor, at }: Selection) => [Math.min(anchor, at), Math.max(anchor, at)] as const;

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

function totalsOf({ bars }: Counts, series: readonly Series[], first: number, last: number) {
  const inside = bars.filter(({ index }) => index >= first && index <= last);
  return Object.fromEntries(
    series.map(({ name }) => [name, inside.reduce((total, { counts }) => total + (counts[name] ?? 0), 0)]),
  );
}

function slotAt({ clientX, currentTarget }: PointerEvent & { readonly currentTarget: Element }): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.max(0, Math.min(slots - 1, Math.floor(((clientX - left) / width) * slots)));
}
