import { describe, expect, test } from "vitest";
import { resolve } from "../../../src/operator/connection/read-account.ts";
import type { Session } from "../../../src/operator/connection/session.ts";
import { statusOf } from "../../../src/operator/connection/status.ts";
import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { apiKeySecret, connection } from "../../support/connections.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { setUp } from "./joined.ts";

const own = connection();
const resolved = resolve(own, apiKeySecret(), ["https://service.example.com/api/v2"]);

/** Reason and message of the Ready condition. */
function conditionWith(session: Session): { reason: string; message: string } {
  const status = statusOf(own, resolved, session, undefined, () => [], { now: Date.UTC(2026, 0, 1), isOfKey: true });
  const { reason, message } = conditionOf(status, "Ready") ?? { reason: "", message: "" };
  return { reason, message };
}

describe("the condition of a connection", () => {
  test("says that the service asked for a pause, unless it refused the key", async () => {
    const { clock, answers, probed } = setUp();
    const session = await probed();
    session.budget.closeFor(60_000);
    const paused = conditionWith(session);
    expect(paused).toEqual({
      reason: "Unreachable",
      message: expect.stringMatching(/^The service asked for a pause,/),
    });
    await clock.advance(60_000);
    answers["/auth"] = () => refusal(401, "revoked");
    for (let n = 0; n < 2; n += 1) {
      await clock.advance(session.state.probeInMs ?? 0);
      session.probe();
      await clock.settle();
    }
    session.budget.closeFor(60_000);
    expect(conditionWith(session).reason).toBe("Unauthorized");
  });

  test("says that lists are late where the request budget is too small, after what else is wrong", async () => {
    const { clock, answers, probed } = setUp();
    answers["/projects"] = () => refusal(403, "no right");
    const session = await probed();
    session.project("shop").use("compute", undefined);
    await clock.advance(0);
    const unlisted = "The service accepts the API key. The projects of the key cannot be listed: no right.";
    expect(conditionWith(session).message).toBe(unlisted);
    session.join("connection-1", { limits: { perMinute: 1, burst: 1 }, refreshIntervalMs: 5000 });
    await clock.advance(300_000);
    expect(conditionWith(session).message).toBe(
      `${unlisted} Projects are listed less often than spec.refreshInterval says, because spec.requestBudget is too small.`,
    );
  });

  test.each([
    [refusal(403, "no right"), "The projects of the key cannot be listed: no right."],
    [
      refusal(400, "which one"),
      "The projects of the key cannot be listed: which one. Name the organization in spec.organizationID.",
    ],
    [json(200, { projects: [] }), "The service accepts the API key."],
  ])(
    "says why the projects of an accepted key are not listed, and what to do where that is known",
    async (answer, text) => {
      const { answers, probed } = setUp();
      answers["/projects"] = () => answer;
      const { reason, message } = conditionWith(await probed());
      expect([reason, message.replace("The service accepts the API key. ", "")]).toEqual(["Authenticated", text]);
    },
  );
});
