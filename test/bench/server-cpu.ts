import { readdirSync, readFileSync } from "node:fs";

/** CPU time of the server's processes, also of those that have ended. */
export function serverCpuUs(pid: number): number {
  const statOf = (each: string | number) => {
    const fields = readFileSync(`/proc/${each}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const [own = 0, ended = 0] = [fields.slice(11, 13), fields.slice(13, 15)].map((ticks) =>
      ticks.map(Number).reduce((sum, value) => sum + value, 0),
    );
    return { parent: Number(fields[1]), own, ended };
  };
  const server = statOf(pid);
  const running = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(statIfRunning(statOf))
    .filter((stat) => stat?.parent === pid);
  const ticks = running.reduce((sum, stat) => sum + (stat?.own ?? 0), server.own + server.ended);
  return ticks * microsecondsPerTick;
}

const statIfRunning =
  <Stat>(statOf: (name: string) => Stat) =>
  (name: string): Stat | undefined => {
    try {
      return statOf(name);
    } catch {
      return undefined;
    }
  };

const microsecondsPerTick = 10_000;
