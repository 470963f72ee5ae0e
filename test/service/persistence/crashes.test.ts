import { expect, it } from "vitest";
import { crash } from "./crashes.ts";

it("50 times killed while it is being written to, the service has lost nothing that it answered", async () => {
  const { answered, problems } = await crash(50);
  expect(problems).toEqual([]);
  expect(answered).toBeGreaterThan(500);
}, 600_000);
