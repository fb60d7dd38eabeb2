import type { Resolvers } from "../../generated/resolvers.ts";
import { createArtifacts } from "../../rules/partner/artifacts.ts";
import { createJob, initiateImport } from "../../rules/partner/jobs.ts";
import { createJobWorks } from "../../rules/partner/works.ts";
import { isoTime } from "../../time/iso-time.ts";

const times = {
  createdAt: ({ createdAtMs }: { createdAtMs: number }) => isoTime(createdAtMs),
  updatedAt: ({ updatedAtMs }: { updatedAtMs: number }) => isoTime(updatedAtMs),
};

export const jobResolvers: Resolvers = {
  Mutation: {
    createConnectionJob: (_parent, input, { world, caller }) => createJob(world, caller, input),
    createJobWorks: (_parent, input, { world, caller }) => createJobWorks(world, caller, input),
    createJobWorkArtifacts: (_parent, input, { world, caller }) => createArtifacts(world, caller, input),
    initiateTaxPrepsImport: (_parent, { connectionJobId }, { world, caller }) =>
      initiateImport(world, caller, connectionJobId),
  },
  ConnectionJob: times,
  JobWork: { ...times, connectionJobId: ({ jobId }) => jobId },
  JobArtifact: {
    ...times,
    connectionJobId: ({ jobId }) => jobId,
    workArtifact: (artifact) => artifact,
  },
  WorkArtifact: {
    id: ({ artifactId }) => artifactId,
    uploadedUrl: ({ url }) => url,
  },
};
