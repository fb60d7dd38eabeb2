import { ActionButton, Actions, useTemporary } from "@workspace-tasks/page-parts/controls.tsx";
import { useRef } from "preact/hooks";
import { control } from "../state/mock.ts";
import { parseJson } from "../text/http-text.ts";

/** The state as a file: for a colleague, for a bug report, for `workspace-tasks mock --state`. */
export function StatePanel() {
  const field = useRef<HTMLInputElement>(null);
  const [done, setDone] = useTemporary<string>(6_000);
  const save = async () => {
    download(JSON.stringify(await control.getSnapshot()));
    setDone("Saved as mock-state.json. It holds the signing secrets of the mock.");
  };
  const restore = async () => {
    const file = field.current?.files?.[0];
    if (!file) throw new Error("choose a file first");
    await control.restoreSnapshot(parseJson("the file is", await file.text()) as object);
    setDone(`Restored ${file.name}.`);
  };
  return (
    <section class="panel" aria-label="State">
      <h3>State</h3>
      <p>
        Tasks, deliveries, requests, keys and time in one file. Another mock restores it here, or starts from
        it: <code>workspace-tasks mock --state mock-state.json</code>.
      </p>
      <label>
        File to restore
        <input ref={field} type="file" accept=".json,application/json" />
      </label>
      <Actions>
        <ActionButton label="Export state" onRun={save} class="primary" />
        <ActionButton label="Replace state by the file" asksFirst onRun={restore} class="toned tone-bad" />
      </Actions>
      <div role="status">{done}</div>
    </section>
  );
}

function download(text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "mock-state.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
