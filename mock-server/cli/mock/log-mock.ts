import type { CommandIo } from "@workspace-tasks/kernel/cli/command-line.ts";
import type { MockServer } from "../../create-mock.ts";
import type { MockWorld } from "../../mock-world.ts";
import { createLogOutput } from "../log-output.ts";

/** Logs what happens in a mock and its worlds; the function that is returned stops it. */
export function logMock(mock: MockServer, io: CommandIo): () => void {
  const output = createLogOutput(io);
  // Weak: a world that is dropped, such as that of each test, must not stay in memory.
  const stops = new WeakMap<MockWorld, () => void>();

  const follow = (world: MockWorld, name: string | undefined) => {
    const options = { date: world.clock.mode === "virtual", world: name };
    const stop = world.subscribe((activity) => {
      if (activity.type === "world.created") {
        const created = mock.worlds.get(String(activity["name"]));
        if (created) follow(created, created.name);
      }
      output.print(activity, options);
    });
    stops.set(world, stop);
  };
  follow(mock, undefined);
  for (const world of mock.worlds.list()) follow(world, world.name);

  return () => {
    for (const world of [mock, ...mock.worlds.list()]) stops.get(world)?.();
    output.end();
    // A reader that has stopped reading must not keep the process alive.
    if ((io.stdout.writableLength ?? 0) > 0) io.endsUnread?.(500);
  };
}
