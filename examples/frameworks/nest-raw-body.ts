// NestJS with a controller, to which guards and interceptors apply.

import "reflect-metadata";
import type { OnApplicationBootstrap, OnApplicationShutdown } from "@nestjs/common";
import { Body, Controller, Module, Post, Req, Res } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import type { Request, Response } from "express";
import { receiver } from "./receiver.ts";

@Controller()
class EchoController {
  @Post("echo")
  echo(@Body() body: unknown) {
    return body;
  }
}

// #region controller
@Controller("webhooks")
class WebhooksController implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly receive = webhookMiddleware(receiver);

  @Post()
  deliver(@Req() request: Request, @Res() response: Response) {
    this.receive(request, response);
  }

  onApplicationBootstrap = () => receiver.start();
  onApplicationShutdown = () => receiver.close();
}

@Module({ controllers: [WebhooksController, EchoController] })
class AppModule {}

async function bootstrap() {
  const app = await NestFactory.create(AppModule, { rawBody: true }); // keeps the bytes that are signed
  app.enableShutdownHooks();
  await app.listen(process.env["PORT"] ?? 3000);
  console.log("ready");
}
void bootstrap();
// #endregion
