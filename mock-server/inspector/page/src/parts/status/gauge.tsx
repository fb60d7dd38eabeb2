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
