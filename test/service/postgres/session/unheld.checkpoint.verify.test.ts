import { expect, it } from "vitest";
import { indexWithFunction, lockPage } from "../holders/page-lock.ts";
import { main, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();

it("a function that holds a page, and with it each checkpoint, keeps no copy waiting, and no service from its end", async () => {
  const uri = await rig.uri();
  await rig.query(uri, ...indexWithFunction);
  const client = await rig.client(uri);
  await client.query(lockPage.first);
  client.query(lockPage.change).catch(() => {});
  const sleeps = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
  await expect.poll(() => rig.query(uri, sleeps)).toHaveLength(1);
  const copy = { branch: { parent_id: main } };
  const [made] = await rig.change("POST", `/projects/${project}/branches`, copy);
  expect(made).toMatchObject({ status: "failed", error: expect.stringMatching(/a session of a client holds it up/) });
  // The next copy has been begun when the service is told to end.
  await rig.call("POST", `/projects/${project}/branches`, copy);
  await rig.stop();
  expect(await rig.child.end).toEqual({ status: 0, signal: null });
});
