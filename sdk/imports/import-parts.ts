import type { Redactor } from "../call/redactor.ts";
import type { Engine } from "../engine/engine.ts";
import type { Jobs } from "../operations/jobs.ts";
import type { Me } from "../operations/me.ts";
import type { Tasks } from "../operations/tasks.ts";
import type { TaxClients } from "../operations/tax-clients.ts";
import type { Works } from "../operations/works.ts";
import type { CallOptions, ResolvedOptions } from "../options.ts";
import type { Uploads } from "../uploads/uploads.ts";

/** What an import uses of its client. */
export interface ImportParts extends Pick<ResolvedOptions, "clock" | "random" | "longDeadlineMs"> {
  readonly engine: Engine;
  readonly redactor: Redactor;
  readonly jobs: Jobs;
  readonly works: Works;
  readonly uploads: Uploads;
  readonly taxClients: TaxClients;
  readonly tasks: Tasks;
  me(call: CallOptions): Promise<Me>;
}
