import { useResource } from "../state/resource.ts";
import { mockControl, mockUrl, worldName } from "../state/worlds.ts";

/** Isolated worlds of one mock, each with a page of its own. */
export function WorldsPanel() {
  const worlds = useResource("worlds", ["world", "clock"], () => mockControl.listWorlds());
  return (
    <section class="panel" aria-label="Worlds">
      <h3>Worlds</h3>
      <ul class="items">
        {worlds?.data.map(({ name, clock }) => (
          <li key={name}>
            {name === (worldName ?? "main") ? <b>{name}</b> : <a href={pageOf(name)}>{name}</a>}
            <span class="muted">{clock} clock</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** On the address that the browser knows the mock by. */
const pageOf = (name: string) => `${mockUrl}${name === "main" ? "" : `/w/${name}`}/_mock/`;
