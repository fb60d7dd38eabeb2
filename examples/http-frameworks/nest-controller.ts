import "reflect-metadata";
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from "@nestjs/common";
import { Controller, Module, Post, Req, Res } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import type { Request, Response } from "express";
import { receiver } from "./receiver.ts";

@Controller("webhooks")
class WebhooksController implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly receive = webhookMiddleware(receiver);

  @Post()
  deliver(@Req() request: Request, @Res() response: Response) {
    this.receive(request, response);
  }

  onApplicationBootstrap = () => receiver.start();
  beforeApplicationShutdown = () => receiver.close();
}

@Module({ controllers: [WebhooksController] })
class AppModule {}

async function bootstrap() {
  const app = await NestFactory.create<NestExpressApplication>(AppModule, {
    rawBody: true, // keeps the bytes
    forceCloseConnections: true, // at the end also those on which nothing was sent
  });
  app.useBodyParser("json", { limit: "1mb" });
  app.enableShutdownHooks();
  await app.listen(process.env["PORT"] ?? 3000);
  console.log("ready");
}
void bootstrap();
