/** Test files that take several seconds, the longest first. */
export const longestFiles: readonly string[] = [
  "test/system/chaos/chaos.test.ts",
  "test/integration/simulation/seeds.test.ts",
  "test/system/model/model.test.ts",
  "test/integration/tools/commands/compare/compare-command.test.ts",
  "test/system/browser/inspector-looks.test.ts",
  "test/system/package/packed-install.test.ts",
  "test/system/browser/inspector.test.ts",
  "test/system/package/examples.test.ts",
  "test/integration/receiver-kit/check-receiver.test.ts",
  "test/system/receiver-kit/rabbitmq.test.ts",
  "test/system/package/hostile-functions.test.ts",
  "test/system/package/no-silent-exit.test.ts",
  "test/system/browser/inspector-tasks.test.ts",
  "test/system/receiver-kit/check-receiver-foreign.test.ts",
  "test/system/sdk/sdk-shared-rate-limit.test.ts",
  "test/system/receiver-kit/inbox/postgres/silent-connections.test.ts",
];
