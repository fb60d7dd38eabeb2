import { useState } from "preact/hooks";
import type { Tone } from "./controls.tsx";
import { type Filter, goTo, hashOf } from "./route.ts";
import { formatDuration, formatRange, sum } from "./text.ts";
import { type StatusTexts, Time } from "./values.tsx";

/** Fewer are drawn as wide as these. */
const slotsMin = 24;

interface Counts {
  readonly from: string;
  readonly barMs: number;
  readonly bars: readonly { readonly index: number; readonly counts: Readonly<Record<string, number>> }[];
}

interface Props {
  /** The list of what is counted. */
  readonly view: string;
  /** Its filter by series. */
  readonly field: string;
  /** The series, from the bottom of a bar to its top. */
  readonly tones: Readonly<Record<string, Tone>>;
  /** Labels of the series. Default: their names. */
  readonly texts?: StatusTexts;
  /** Not read yet, or no record: nothing is drawn. */
  readonly counts: Counts | null | undefined;
  readonly filter?: Filter | undefined;
}

interface Selection {
  readonly anchor: number;
  readonly at: number;
}

/**
 * Counts over time, stacked. The list shows only a range that is selected: by dragging, or with the arrow keys (and
 * Shift) and Enter. Before that, the legend has the numbers of the range.
 */
export function Histogram({ view, field, tones, texts = {}, counts, filter = {} }: Props) {
  const [selection, setSelection] = useState<Selection | null>(null);
  if (!counts || counts.bars.length === 0) return null;
  const { barMs, bars } = counts;
  const slots = Math.max(slotsMin, (bars.at(-1)?.index ?? 0) + 1);
  const { anchor, at } = selection ?? { anchor: 0, at: slots - 1 };
  const [first, end] = [Math.min(anchor, at), Math.max(anchor, at) + 1];
  const inside = bars.filter(({ index }) => index >= first && index < end);
  const entries = Object.entries(tones).map(([name, tone]) => ({
    name: texts[name]?.label ?? name,
    tone,
    count: sum(inside.map(({ counts }) => counts[name] ?? 0)),
    href: hashOf(view, null, { ...filter, [field]: name }),
  }));
  const highest = Math.max(...bars.map(({ counts }) => sum(Object.values(counts))));
  const timeOf = (slot: number) => new Date(Date.parse(counts.from) + slot * barMs).toISOString();
  const range = formatRange(timeOf(first), timeOf(end));
  const narrow = () => {
    if (selection) goTo(view, null, { ...filter, from: timeOf(first), to: timeOf(end) });
    setSelection(null);
  };
  const drop = () => setSelection(null);
  return (
    <section class="histogram" aria-label={`${view} over time`}>
      <Legend entries={entries} />
      <div
        class="bars"
        role="slider"
        tabIndex={0}
        aria-label={`Time of ${view}; Enter shows only the selected ones`}
        aria-valuemin={0}
        aria-valuemax={slots - 1}
        aria-valuenow={at}
        aria-valuetext={`${range}: ${entries.map(({ name, count }) => `${count} ${name}`).join(", ")}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          const at = slotAt(event, slots);
          setSelection({ anchor: at, at });
        }}
        onPointerMove={(event) => {
          const at = slotAt(event, slots);
          setSelection({ anchor: event.buttons === 0 ? at : anchor, at });
        }}
        onPointerUp={narrow}
        onPointerLeave={drop}
        onPointerCancel={drop}
        onBlur={drop}
        onKeyDown={(event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          if (event.key === "Enter") narrow();
          else if (step === undefined) return;
          else {
            const next = Math.max(0, Math.min(slots - 1, (selection ? at : -step) + step));
            setSelection({ anchor: event.shiftKey ? anchor : next, at: next });
          }
          event.preventDefault();
        }}
      >
        <svg viewBox={`0 0 ${slots} ${highest}`} preserveAspectRatio="none" aria-hidden="true">
          {selection && <rect class="selection" x={first} width={end - first} height={highest} />}
          {bars.map(({ index, counts }) => {
            let top = highest;
            return Object.entries(tones).map(([name, tone]) => {
              const height = counts[name] ?? 0;
              top -= height;
              const place = { x: index + 0.08, y: top, width: 0.84, height };
              return <rect key={`${index} ${name}`} class={`tone-${tone}`} {...place} />;
            });
          })}
        </svg>
      </div>
      <div class="ends muted" aria-hidden="true">
        <Time at={timeOf(0)} />
        <span>{selection ? range : `highest bar ${highest}, each ${formatDuration(barMs)}`}</span>
        <Time at={timeOf(slots)} />
      </div>
    </section>
  );
}

function slotAt(
  { clientX, currentTarget }: PointerEvent & { readonly currentTarget: Element },
  slots: number,
) {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.max(0, Math.min(slots - 1, Math.floor(((clientX - left) / width) * slots)));
}

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
