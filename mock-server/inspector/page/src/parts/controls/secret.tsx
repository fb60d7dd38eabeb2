import { useState } from "preact/hooks";
import { CopyButton } from "./copy-button.tsx";
import "./secret.css";

/** A secret, hidden until it is asked for. */
export function Secret({ label, value }: { readonly label: string; readonly value: string }) {
  const [shown, setShown] = useState(false);
  return (
    <span class="secret">
      <code>{shown ? value : "whsec_••••••••••••••••"}</code>
      <button
        type="button"
        class="quiet"
        aria-label={`${shown ? "hide" : "show"} ${label}`}
        onClick={() => setShown(!shown)}
      >
        {shown ? "Hide" : "Show"}
      </button>
      {shown && <CopyButton label="Copy" text={value} />}
    </span>
  );
}
