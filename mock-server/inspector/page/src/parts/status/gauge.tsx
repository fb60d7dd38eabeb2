import { toneOf } from "./status-badge.tsx";
import "./gauge.css";

interface GaugeProps {
  readonly label: string;
  readonly used: number;
  readonly max: number;
}

/** Used part of a limit. */
export function Gauge({ label, used, max }: GaugeProps) {
  const percent = Math.min(100, (used / Math.max(1, max)) * 100);
  const tone = percent >= 100 ? "bad" : percent >= 80 ? "wait" : "run";
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <meter> cannot take the page's colours in every browser.
    <div
      class={`gauge tone-${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={Math.min(used, max)}
    >
      <i style={{ width: `${percent}%` }} />
    </div>
  );
}

/** Shares of a whole. The figures beside it say the same in words. */
export function Shares({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  return (
    <div class="shares" aria-hidden="true">
      {Object.entries(counts)
        .filter(([, count]) => count > 0)
        .map(([status, count]) => (
          <i key={status} class={`tone-${toneOf(status)}`} style={{ flexGrow: count }} />
        ))}
    </div>
  );
}

const sparkHeight = 32;

/** Activity over the last minute. The figure beside it says the same in words. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const peak = Math.max(4, ...values);
  const points = values.map(
    (value, index) => `${index},${(sparkHeight - 1 - (value / peak) * (sparkHeight - 3)).toFixed(1)}`,
  );
  const right = values.length - 1;
  return (
    <svg class="spark" viewBox={`0 0 ${right} ${sparkHeight}`} preserveAspectRatio="none" aria-hidden="true">
      <polygon points={`0,${sparkHeight} ${points.join(" ")} ${right},${sparkHeight}`} />
      <polyline points={points.join(" ")} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
