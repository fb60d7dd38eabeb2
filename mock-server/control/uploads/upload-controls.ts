import { toBase64 } from "@workspace-tasks/kernel/bytes.ts";
import { found } from "../../rules/service-error.ts";
import { uploadContent } from "../../rules/uploads.ts";
import type { UploadRecord } from "../../state/records.ts";
import { isoTime, isoTimeOrNull } from "../../time/duration.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { uploadRoutes } from "./upload-routes.ts";

export function createUploadControls(worlds: WorldHolder): ControlsOf<typeof uploadRoutes> {
  return {
    listUploads: () => ({ data: [...worlds.current.state.uploads.values()].map(viewUpload) }),
    getUpload(uploadId) {
      const upload = found(worlds.current.state.uploads.get(uploadId), "Upload not found");
      return {
        ...viewUpload(upload),
        contentBase64: toBase64(uploadContent(worlds.current, uploadId)),
      };
    },
  };
}

const viewUpload = ({ createdAtMs, completedAtMs, ...upload }: UploadRecord) => ({
  ...upload,
  createdAt: isoTime(createdAtMs),
  completedAt: isoTimeOrNull(completedAtMs),
});
