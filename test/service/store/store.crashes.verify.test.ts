import { expect, it } from "vitest";
import { crash } from "./crashes.ts";

it("50 times killed while it is being written to, the service has lost nothing that it answered", async () => {
  const { answered, problems } = await crash(50);
  expect(problems).toEqual([]);
  // How much it gets done between two kills depends on the machine; that it does something shows that it came back.
  expect(answered).toBeGreaterThan(50);
}, 600_000);
