import { toneOf } from "./status.tsx";
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
