import { ActionButton, Actions, TextField } from "@workspace-tasks/page-parts/controls.tsx";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { useState } from "preact/hooks";
import { mockControl, mockUrl, worldName } from "../state/mock.ts";

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

/** On the address that the browser knows the mock by. */
const pageOf = (name: string) => `${mockUrl}${name === "main" ? "" : `/w/${name}`}/_mock/`;
