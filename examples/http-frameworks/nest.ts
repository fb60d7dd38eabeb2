import "reflect-metadata";
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from "@nestjs/common";
import { Body, Controller, Inject, Injectable, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";

@Injectable()
class TaskStates {
  readonly statuses = new Map<string, string>();
}

@Injectable()
class Webhooks implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly receiver = createReceiver({
    secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""],
    inbox: sqliteInbox(process.env["INBOX_FILE"] ?? "webhooks.db"),
  });

  constructor(@Inject(TaskStates) states: TaskStates) {
    this.receiver.onState("task", ({ taskId, status }) => {
      states.statuses.set(taskId, status);
      console.log(`task ${taskId} is ${status}`);
    });
  }

  onApplicationBootstrap = () => this.receiver.start();
  beforeApplicationShutdown = () => this.receiver.close(); // then Nest closes the HTTP server
}

@Controller()
class EchoController {
  @Post("echo")
  echo(@Body() body: unknown) {
    return body;
  }
}

@Module({ controllers: [EchoController], providers: [TaskStates, Webhooks] })
class AppModule {}

async function bootstrap() {
  const app = await NestFactory.create(AppModule, {
    logger: ["error", "warn"],
    forceCloseConnections: true, // at the end also those on which nothing was sent
  });
  app.use("/webhooks", webhookMiddleware(app.get(Webhooks).receiver)); // runs before Nest's body parser
  app.enableShutdownHooks();
  await app.listen(process.env["PORT"] ?? 3000);
  console.log("ready");
}
void bootstrap();
