import { useEffect, useState } from "preact/hooks";

const tones: Readonly<Record<string, string>> = {
  RUNNING: "run",
  COMPLETED: "good",
  FAILED: "bad",
  pending: "wait",
  paused: "wait",
  succeeded: "good",
  failed: "bad",
  cancelled: "",
  enabled: "good",
  answered: "good",
  refused: "bad",
  current: "good",
  grace: "wait",
  expired: "bad",
};

/** A status in its colour; the word itself always stands there, colour only repeats it. */
export function Mark({ status }: { readonly status: string }) {
  return <span class={`mark ${tones[status] ?? ""}`}>{status}</span>;
}

/** How much of an allowance is used. */
export function Gauge({
  label,
  used,
  max,
}: {
  readonly label: string;
  readonly used: number;
  readonly max: number;
}) {
  const percent = Math.min(100, (used / Math.max(1, max)) * 100);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <meter> cannot take the page's colours in every browser.
    <div
      class={`gauge ${used >= max ? "full" : ""}`}
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

/** Activity over the last minute. The figure beside it says the same in words. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const peak = Math.max(1, ...values);
  const points = values.map((value, index) => `${index},${20 - (value / peak) * 19}`).join(" ");
  return (
    <svg viewBox={`0 0 ${values.length - 1} 20`} preserveAspectRatio="none" height="28" aria-hidden="true">
      <polyline points={points} fill="none" stroke="var(--accent)" vector-effect="non-scaling-stroke" />
    </svg>
  );
}

export function CopyButton({ label, text }: { readonly label: string; readonly text: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1_500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {done ? "copied" : label}
    </button>
  );
}

/** A secret stays covered until somebody asks for it. */
export function Secret({ label, value }: { readonly label: string; readonly value: string }) {
  const [shown, setShown] = useState(false);
  return (
    <span>
      <code>{shown ? value : "••••••••••••••••"}</code>{" "}
      <button
        type="button"
        class="quiet"
        aria-label={`${shown ? "hide" : "show"} ${label}`}
        aria-pressed={shown}
        onClick={() => setShown(!shown)}
      >
        {shown ? "hide" : "show"}
      </button>
    </span>
  );
}
