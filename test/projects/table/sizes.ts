// What a user's disk gets. The limits are 5 % above what was measured; what is a user's choice or need anyway is not counted.
import { type Project, program } from "../project.ts";

const sdk = "@workspace-tasks/sdk";
const kit = "@workspace-tasks/receiver-kit";
const mock = "@workspace-tasks/mock-server";
const command = "workspace-tasks";

interface Limits {
  readonly packagesMax: number;
  readonly bytesMax: number;
  readonly uncounted: readonly string[];
  readonly never: readonly string[];
}

const size = (of: string, limits: Limits): Project => ({
  part: "pages",
  of,
  how: "its size",
  install: [of],
  files: { "sizes.mjs": program("sizes.mjs") },
  run: `node sizes.mjs '${JSON.stringify(limits)}'`,
  prints: /within limits/,
  quick: true,
});

export const sizes: readonly Project[] = [
  size(sdk, { packagesMax: 1, bytesMax: 850_000, uncounted: [], never: [mock, kit, "zod"] }),
  size(kit, { packagesMax: 3, bytesMax: 1_440_000, uncounted: ["zod"], never: [mock, command] }),
  size("@workspace-tasks/receiver-rabbitmq", {
    packagesMax: 4,
    bytesMax: 1_600_000,
    uncounted: ["zod"],
    never: [mock, command],
  }),
  size(command, {
    packagesMax: 9,
    bytesMax: 4_300_000,
    uncounted: ["graphql", "zod", "standardwebhooks"],
    never: [kit],
  }),
];
