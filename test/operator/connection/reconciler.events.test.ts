import { expect, test } from "vitest";
import { refusal } from "../../support/scripted-service.ts";
import { secrets, setUp } from "./setting.ts";

test("a key that the service refuses, and one that it accepts again, is an event on the connection, once", async () => {
  const { reconcile, restart, service, cluster, reported } = setUp();
  const { script } = service;
  await reconcile();
  expect(reported).toEqual([]);
  service.script = () => refusal(401, "revoked");
  await cluster.clock.advance(700_000);
  await reconcile();
  await cluster.clock.advance(5000);
  await reconcile();
  await reconcile();
  const refused =
    "ServiceConnection default Unauthorized: The service refused the API key: revoked. Put a valid key into the Secret; until then only an occasional probe is sent.";
  expect(reported).toEqual([refused]);
  restart();
  await reconcile();
  expect(reported).toEqual([refused]);
  service.script = script;
  await cluster.clock.advance(700_000);
  await reconcile();
  await reconcile();
  expect(reported.slice(1)).toEqual(["ServiceConnection default Authenticated: The service accepts the API key."]);
});

test("a key that the service refuses is one event and one line although the API server takes no status", async () => {
  const { reconcile, service, cluster, reported, lines } = setUp();
  await reconcile();
  service.script = () => refusal(401, "revoked");
  cluster.fate = ({ path }) => (path.endsWith("/status") ? { kind: "status", afterMs: 0, status: 403 } : undefined);
  await cluster.clock.advance(700_000);
  await reconcile();
  await cluster.clock.advance(5000);
  for (let n = 0; n < 2; n += 1) await expect(reconcile()).rejects.toThrow("hands off");
  expect([reported.length, lines.length]).toEqual([1, 1]);
});

test("an event of an earlier process is not repeated, and a service that had not answered it yet counts as usable", async () => {
  const at = { observedGeneration: 1, lastTransitionTime: "2026-01-01T00:00:00Z" };
  const shown = (status: string) => ({
    observedGeneration: 1,
    conditions: [{ type: "Ready", status, reason: "Unreachable", message: "No answer.", ...at }],
  });
  for (const [status, events] of [
    ["False", 1],
    ["Unknown", 0],
  ] as const) {
    const { setStatus, reconcile, reported } = setUp();
    setStatus(shown(status));
    await reconcile();
    expect(reported).toHaveLength(events);
  }
});

test("a Secret that is missing is an event on the connection", async () => {
  const { reconcile, remove, reported } = setUp();
  await reconcile();
  remove(`${secrets}/service`);
  await reconcile();
  await reconcile();
  expect(reported).toEqual([
    expect.stringMatching(/^ServiceConnection default SecretNotFound: There is no Secret "service"/),
  ]);
});
