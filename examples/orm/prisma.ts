import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "./generated/client.ts";
import { receiver } from "./receiver.ts";

const prisma = new PrismaClient({ adapter: new PrismaPg(process.env["DATABASE_URL"] ?? "") });

receiver.on("task.*", async ({ taskId, status }, { idempotencyKey: id }) => {
  await prisma.$transaction(async (tx) => {
    const added = await tx.appliedEvent.createMany({ data: [{ id }], skipDuplicates: true });
    if (added.count > 0) await tx.taskChange.create({ data: { taskId, status } });
  });
});
