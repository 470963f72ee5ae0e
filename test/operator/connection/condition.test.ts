import { describe, expect, test } from "vitest";
import { connectionCondition } from "../../../src/operator/connection/condition.ts";
import { resolve } from "../../../src/operator/connection/resolve.ts";
import { apiKeySecret, connection } from "../../support/connections.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { setUp } from "./joined.ts";

const own = connection();
const resolved = resolve(own, apiKeySecret(), ["https://service.example.com/api/v2"]);

describe("the condition of a connection", () => {
  test("says that the service asked for a pause, unless it refused the key", async () => {
    const { clock, answers, probed } = setUp();
    const session = await probed();
    session.budget.closeFor(60_000);
    const paused = connectionCondition(own, resolved, session);
    expect(paused).toEqual({
      reason: "Unreachable",
      message: expect.stringMatching(/^The service asked for a pause,/),
    });
    await clock.advance(60_000);
    answers["/auth"] = () => refusal(401, "revoked");
    for (let n = 0; n < 2; n += 1) {
      await clock.advance(session.probe.dueInMs ?? 0);
      session.probe.start();
      await clock.settle();
    }
    session.budget.closeFor(60_000);
    expect(connectionCondition(own, resolved, session).reason).toBe("Unauthorized");
  });

  test("says that lists are late where the request budget is too small, after what else is wrong", async () => {
    const { clock, answers, probed } = setUp();
    answers["/projects"] = () => refusal(403, "no right");
    const session = await probed();
    session.project("shop").use("compute", undefined);
    await clock.advance(0);
    const unlisted = "The service accepts the API key. The projects of the key cannot be listed: no right.";
    expect(connectionCondition(own, resolved, session).message).toBe(unlisted);
    session.join("connection-1", { limits: { perMinute: 1, burst: 1 }, refreshIntervalMs: 5000 });
    await clock.advance(300_000);
    expect(connectionCondition(own, resolved, session).message).toBe(
      `${unlisted} Projects are listed less often than spec.refreshInterval says, because spec.requestBudget is too small.`,
    );
  });

  test.each([
    [refusal(403, "no right"), own, "The projects of the key cannot be listed: no right."],
    [
      refusal(400, "which one"),
      own,
      "The projects of the key cannot be listed: which one. Name the organization in spec.organizationID.",
    ],
    [json(200, { projects: [] }), own, "The service accepts the API key."],
  ])(
    "says why the projects of an accepted key are not listed, and what to do where that is known",
    async (answer, of, text) => {
      const { answers, probed } = setUp();
      answers["/projects"] = () => answer;
      const { reason, message } = connectionCondition(of, resolved, await probed());
      expect([reason, message.replace("The service accepts the API key. ", "")]).toEqual(["Authenticated", text]);
    },
  );
});
