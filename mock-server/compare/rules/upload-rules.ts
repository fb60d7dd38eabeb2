import { withPermission } from "./rejection-rules.ts";
import { type Rule, ruleOf } from "./rule.ts";

const statusRule = (id: string, probe: string, title: string, ...assumptions: string[]): Rule =>
  ruleOf(`uploads.${id}`, probe, { title, assumptions }, ({ status }) => ({ status }));

export const uploadRules: readonly Rule[] = [
  statusRule("options", "uploads.options", "uploads are taken at /api/uploads"),
  statusRule("unknown", "uploads.head", "an unknown upload is a 404"),
  statusRule("head-read-only", "uploads.head-read-only", "a read-only key may ask for an upload", "A-28"),
  statusRule("head-no-token", "uploads.head-no-token", "an upload cannot be asked for without a token"),
  withPermission(
    "unknown-client.documents",
    statusRule("no-length", "upload-create.no-length", "an upload without a length is a 400"),
  ),
  statusRule("create-read-only", "upload-create.read-only", "a read-only key may create no upload", "A-28"),
  statusRule("create-no-token", "upload-create.no-token", "an upload cannot be created without a token"),
];
