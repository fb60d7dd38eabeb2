import { unknownId } from "./list-probes.ts";
import { group, type Probe } from "./probe.ts";

const path = "/api/uploads";
const tus = { "tus-resumable": "1.0.0" };

const request = (sends: string, method: string, path: string) => ({
  sends,
  request: { method, path, contentType: null, body: null },
});

const head = request("HEAD of an upload that does not exist", "HEAD", `${path}/${unknownId}`);
/** No upload can result from it, with any key. */
const create = request("POST of an upload without its length", "POST", path);

export const uploadProbes: readonly Probe[] = [
  ...group(
    "uploads",
    { permission: "read", router: "base", token: "reader" },
    {
      options: { ...request("OPTIONS of the uploads", "OPTIONS", path), token: "none" },
      head: { ...head, headers: tus },
      "head-read-only": { ...head, headers: tus, token: "readOnly" },
      "head-no-token": { ...head, headers: tus, token: "none" },
    },
  ),
  ...group(
    "upload-create",
    { permission: "write", router: "base", token: "admin" },
    {
      "no-length": { ...create, headers: tus },
      "read-only": { ...create, headers: tus, token: "readOnly" },
      "no-token": { ...create, headers: tus, token: "none" },
    },
  ),
];
