import type { Controls } from "../control/contract.ts";
import type { EventStream } from "../control/event-stream.ts";
import type { WorldHolder } from "../world/world-holder.ts";

/** One world of a running mock, as the adapters see it. */
export interface Service {
  readonly worlds: WorldHolder;
  /** The other worlds of the mock, by name; empty in one of them. */
  readonly named: ReadonlyMap<string, Service>;
  /** The world that the prefix `/w/{name}` addresses. */
  find(name: string): Service | null;
  /** Loaded at the first call, and then the same ones. */
  controls(): Promise<Controls>;
  readonly stream: EventStream;
  /** Reads the files of the inspector, by their path below the page; none when it is not built. */
  pageFiles(): ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}
