import { useRef } from "preact/hooks";
import { ActionButton, Actions } from "../parts/controls/action.tsx";
import { useTemporary } from "../parts/controls/use-temporary.ts";
import { control } from "../state/resource.ts";
import { worldUrl } from "../state/worlds.ts";

/** The state as a file: for a colleague, for a bug report, for `workspace-tasks mock --state`. */
export function StatePanel() {
  const field = useRef<HTMLInputElement>(null);
  const [done, setDone] = useTemporary<string>(6_000);
  const save = async () => {
    // As text: a state can be longer than the page should parse.
    const response = await send({});
    download(await response.blob());
    setDone("Saved as mock-state.json. It holds the signing secrets of the mock.");
  };
  const restore = async () => {
    const file = field.current?.files?.[0];
    if (!file) throw new Error("choose a file first");
    const headers = { "content-type": "application/json" };
    setDone("The mock reads the file …");
    await send({ method: "PUT", headers, body: file }).catch((error: unknown) => {
      setDone(null);
      throw error;
    });
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
        <ActionButton onRun={save} class="primary">
          Export state
        </ActionButton>
        <ActionButton asksFirst onRun={restore}>
          Replace state by the file
        </ActionButton>
        <ActionButton asksFirst onRun={() => control.reset()}>
          Reset the mock
        </ActionButton>
      </Actions>
      <div role="status">{done}</div>
    </section>
  );
}

/** @throws Error in the words of the mock, where it responds */
async function send(init: RequestInit): Promise<Response> {
  const response = await fetch(`${worldUrl}/_mock/v1/snapshot`, init).catch(() => {
    throw new Error(
      "the mock did not respond; it may be stopped, or the file has changed since it was chosen",
    );
  });
  if (!response.ok) throw new Error(await messageOf(response));
  return response;
}

function download(blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = "mock-state.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function messageOf(response: Response): Promise<string> {
  const fallback = `the mock responded with HTTP ${response.status}`;
  const body = (await response.json().catch(() => null)) as {
    readonly error?: { readonly message?: string };
  } | null;
  return body?.error?.message ?? fallback;
}
