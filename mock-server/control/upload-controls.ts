import { createHash } from "node:crypto";
import type { z } from "zod";
import { ServiceError } from "../rules/service-error.ts";
import { uploadContent } from "../rules/uploads/uploads.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import type { uploadView } from "./upload-routes.ts";
import { toTime, toTimeOrNull } from "./views.ts";

export type UploadView = Readonly<z.infer<typeof uploadView>>;

/** What has been uploaded. */
export interface UploadControls {
  uploads(): UploadView[];
  /** The bytes that have come so far. @throws ServiceError NOT_FOUND */
  uploadContent(uploadId: string): Uint8Array;
}

export function createUploadControls(worlds: WorldHolder): UploadControls {
  return {
    uploads() {
      const world = worlds.current;
      return [...world.state.uploads.values()].map(({ createdAtMs, completedAtMs, ...upload }) => ({
        ...upload,
        sha256: createHash("sha256").update(uploadContent(world, upload.id)).digest("hex"),
        createdAt: toTime(createdAtMs),
        completedAt: toTimeOrNull(completedAtMs),
      }));
    },
    uploadContent(uploadId) {
      const world = worlds.current;
      if (!world.state.uploads.has(uploadId)) throw new ServiceError("NOT_FOUND", "Upload not found");
      return new Uint8Array(uploadContent(world, uploadId));
    },
  };
}
