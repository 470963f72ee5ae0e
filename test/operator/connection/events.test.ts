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
