import { useLive } from "../store.ts";

/** In place of what has not been read yet. */
export function Waiting() {
  const connection = useLive((state) => state.connection);
  return <>{connection === "lost" ? "Not read yet: the mock does not respond." : "Loading …"}</>;
}
