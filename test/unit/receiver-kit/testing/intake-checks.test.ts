import { describe, expect, it } from "vitest";
import { intakeChecks, registerChecks } from "workspace-tasks/receiver-kit/testing";
import { createMemoryIntake, type IntakeFault } from "../../../support/memory-intake.ts";

const checksOf = (fault?: IntakeFault, deliveredWithinMs = 5_000) =>
  intakeChecks((target) => createMemoryIntake(target, fault), {
    hooks: ["loseConfirm", "killConsumer", "stopEngine", "reorder"],
    deliveredWithinMs,
  });

registerChecks({ describe, it }, "an intake in memory", checksOf());

describe("the checks of an intake", () => {
  it.each<[IntakeFault, string]>([
    ["loses what the receiver rejects", "loses no delivery whose first attempts at the receiver fail"],
    ["acknowledges before the engine has it", "rejects deliveries while the engine cannot confirm them"],
    ["changes the bytes", "byte for byte"],
    ["forgets tenants", "with its id, time, secret, tenant and trace"],
    ["acknowledges to the engine before the receiver has it", "brings them to it afterwards"],
    ["ignores a lost confirm", "acknowledges nothing whose confirm was lost"],
  ])("reject an intake that %s, by the check that names it", async (fault, name) => {
    const failed: string[] = [];
    for (const check of checksOf(fault, 150)) await check.run().catch(() => failed.push(check.name));
    expect(failed.join("\n")).toContain(name);
  });

  it("reject a fixture without a hook that it is said to have", async () => {
    const [, , , , check] = intakeChecks(
      async (target) => {
        const { killConsumer, ...fixture } = await createMemoryIntake(target);
        return fixture;
      },
      { hooks: ["killConsumer"] },
    );
    await expect(check?.run()).rejects.toThrow("expected a fixture with killConsumer()");
  });
});
