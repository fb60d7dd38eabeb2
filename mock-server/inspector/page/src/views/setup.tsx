import {
  ActionButton,
  Actions,
  CopyButton,
  LinkButton,
  TextField,
  Toggles,
  useTemporary,
} from "@workspace-tasks/page-parts/controls.tsx";
import { goTo, hashOf } from "@workspace-tasks/page-parts/route.ts";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { Copied, Facts, TextBlock } from "@workspace-tasks/page-parts/values.tsx";
import { useRef, useState } from "preact/hooks";
import { control, mockControl, mockUrl, transport, useClock, worldName, worldUrl } from "../mock.ts";
import curl from "../snippets/curl.txt?raw";
import receiver from "../snippets/receiver.txt?raw";
import sdk from "../snippets/sdk.txt?raw";
import { parseJson } from "../text.ts";

/** How to connect a client and a receiver, the state as a file, and the worlds of the mock. */
export function SetupView() {
  return (
    <>
      <div class="title-bar">
        <h2>Setup</h2>
      </div>
      <StartPanels />
      <div class="panels wide-panels">
        <StatePanel />
        <WorldsPanel />
      </div>
    </>
  );
}

/** What the first minute with a mock needs. */
export function StartPanels() {
  if (transport.hasAddress) return <ConnectPanels />;
  return (
    <section class="panel" aria-label="First steps">
      <MakeItHappen />
    </section>
  );
}

function ConnectPanels() {
  const seed = useResource("seed data", ["api-key", "workspace"], () => control.getSeedData());
  const [workspace] = Object.values(seed?.workspaces ?? {});
  const apiKey = Object.values(workspace?.members ?? {}).find((member) => member.apiKey)?.apiKey ?? null;
  return (
    <div class="panels half-panels">
      <section class="panel" aria-label="Connect">
        <h3>Connect</h3>
        <Facts
          values={{
            "base URL": <Copied name="the base URL" value={worldUrl} />,
            "gateway URL": <Copied name="the gateway URL" value={`${worldUrl}/gateway`} />,
            "API key": apiKey && <Copied name="the API key" value={apiKey} />,
            "partner key": seed && <Copied name="the partner key" value={seed.partnerApiKey} />,
            workspace: workspace && <Copied name="the workspace" value={workspace.id} />,
            "signing secret": <a href={hashOf("endpoints")}>Each endpoint has its own</a>,
          }}
        />
        <MakeItHappen />
      </section>
      <Snippets apiKey={apiKey} />
    </div>
  );
}

function MakeItHappen() {
  const mode = useClock()?.mode;
  const start = async () => {
    const { taskId } = await control.startTask({ taskType: "TAX_PREP", progression: "timed" });
    goTo("tasks", taskId);
  };
  return (
    <>
      <Actions>
        <ActionButton label="Start a task" onRun={start} class="primary" />
        <LinkButton label="Send an event" href={hashOf("endpoints", "send")} />
        <LinkButton label="Run a query" href={hashOf("run")} />
      </Actions>
      {mode === "real" && (
        <p class="muted">
          This mock has a real clock. Start it with <code>--clock virtual</code> to skip minutes and days at
          the press of a button.
        </p>
      )}
      {mode === "virtual" && (
        <p class="muted">
          The mock's time advances only at the press of a button above, or of the key <kbd>n</kbd>. A receiver
          in another process rejects deliveries as too old or too new, unless it takes its time from the mock.
        </p>
      )}
    </>
  );
}

/** How to call the mock, and how to receive from it. */
const snippets = { curl, SDK: sdk, Receiver: receiver };
type SnippetName = keyof typeof snippets;
const snippetNames = Object.keys(snippets) as readonly SnippetName[];

function Snippets({ apiKey }: { readonly apiKey: string | null }) {
  const [name, setName] = useState<SnippetName>("curl");
  const text = snippets[name]
    .trim()
    .replaceAll("{{baseUrl}}", worldUrl)
    .replaceAll("{{apiKey}}", apiKey ?? "wtk_…");
  return (
    <section class="panel" aria-label="Snippets">
      <div class="title-bar">
        <h3>First call</h3>
        <Toggles label="snippet" names={snippetNames} pressed={name} onPress={setName} />
        <CopyButton label="Copy" name="Copy the snippet" text={text} />
      </div>
      <TextBlock text={text} />
    </section>
  );
}

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

/** Isolated worlds of one mock, each with a page of its own. */
export function WorldsPanel() {
  const [changes, setChanges] = useState(0);
  const worlds = useResource(
    "worlds",
    ["world", "clock"],
    () => mockControl.listWorlds(),
    () => changes,
  );
  const [name, setName] = useState("");
  const current = worldName ?? "main";
  const change = (run: () => Promise<unknown>) => async () => {
    await run();
    setName("");
    setChanges(changes + 1);
  };
  const create = (from?: string) =>
    change(() =>
      mockControl.createWorld({ ...(name.trim() && { name: name.trim() }), ...(from && { from }) }),
    );
  return (
    <section class="panel" aria-label="Worlds">
      <h3>Worlds</h3>
      <ul class="items">
        {worlds?.data.map((world) => (
          <li key={world.name}>
            {world.name === current ? <b>{world.name}</b> : <a href={pageOf(world.name)}>{world.name}</a>}
            <span class="muted">{world.clock} clock</span>
            {world.name === current && <span class="muted">this page</span>}
            {world.name !== "main" && world.name !== current && (
              <Actions class="tools at-end">
                <ActionButton
                  label="Drop"
                  asksFirst
                  class="toned tone-bad"
                  onRun={change(() => mockControl.dropWorld(world.name))}
                  name={`Drop ${world.name}`}
                />
              </Actions>
            )}
          </li>
        ))}
      </ul>
      <Actions class="tools fill">
        <TextField label="Name of a new world" placeholder="world-1" value={name} onInput={setName} />
        <ActionButton label="Create empty" onRun={create()} />
        <ActionButton label="Copy this one" onRun={create(current)} />
      </Actions>
    </section>
  );
}

/** The address of the page of a world, on the origin that the browser knows the mock by. */
const pageOf = (name: string) => `${mockUrl}${name === "main" ? "" : `/w/${name}`}/_mock/`;
