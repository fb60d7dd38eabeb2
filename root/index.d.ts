/**
 * This package exports nothing itself: an import of it throws. Import an entry point:
 *
 * - `workspace-tasks/sdk`: `createClient`
 * - `workspace-tasks/receiver-kit`: `createReceiver`, and `/express`, `/lambda`, `/sqlite`, `/postgres`,
 *   `/rabbitmq`, `/telemetry`, `/audit`, `/testing` below it
 * - `workspace-tasks/mock-server`: `createMockServer`, and `/vitest`, `/jest`, `/playwright`, `/msw` below it
 * - `workspace-tasks/events`: `parseEvent`
 *
 * Guides and API reference: `node_modules/workspace-tasks/docs/README.md`.
 *
 * @module
 */
export {};
