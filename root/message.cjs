// The package has no export of its own. An import of it fails with the list of what to import instead.
module.exports = `"workspace-tasks" exports nothing itself; import one of its entry points:

  workspace-tasks/sdk                      createClient: calls of the service
  workspace-tasks/events                   parseEvent: schemas and types of the webhook events
  workspace-tasks/receiver-kit             createReceiver: receives webhooks
  workspace-tasks/receiver-kit/express     webhookMiddleware: Express, Connect, node:http
  workspace-tasks/receiver-kit/lambda      lambdaHandler: AWS Lambda
  workspace-tasks/receiver-kit/sqlite      sqliteInbox: stores deliveries in one file
  workspace-tasks/receiver-kit/postgres    postgresInbox: stores deliveries for several processes
  workspace-tasks/receiver-kit/rabbitmq    rabbitmqIntake: a queue in front of the inboxes
  workspace-tasks/receiver-kit/telemetry   openTelemetry, renderOpenMetrics
  workspace-tasks/receiver-kit/audit       auditReceiver: checks a receiver from outside
  workspace-tasks/receiver-kit/testing     inboxChecks: checks an inbox of your own
  workspace-tasks/mock-server              createMockServer: the service in memory
  workspace-tasks/mock-server/vitest       mockTest: a mock for each test
  workspace-tasks/mock-server/jest         worldPerTest, for Jest
  workspace-tasks/mock-server/playwright   mockFixtures, for Playwright
  workspace-tasks/mock-server/msw          mockHandlers, for MSW

For example: import { createClient } from "workspace-tasks/sdk"
The guides are in ${require("node:path").join(__dirname, "..", "docs", "README.md")}`;
