import { createServer, type RequestListener } from "node:http";
import { type AuditReport, auditChecks } from "workspace-tasks/check-receiver";
import { type RunningReceiver, serveReceiver } from "./served-receiver.ts";

export const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
export const oldSecret = `whsec_${Buffer.alloc(32, 0x6b).toString("base64")}`;

export const respondingWith = (listener: RequestListener): Promise<RunningReceiver> =>
  serveReceiver(createServer(listener));

export const failedIds = ({ results }: AuditReport): readonly string[] =>
  results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id);

export const musts = new Set(
  auditChecks.filter(({ requirement }) => requirement === "MUST").map(({ id }) => id),
);
