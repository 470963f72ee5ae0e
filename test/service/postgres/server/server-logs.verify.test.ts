import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { PostgresRig, primary, project } from "../rig.ts";

const megabyte = 1_000_000;

it("a client that fills its server's log, and a compute that goes, leave no more than a few megabytes of it", async () => {
  await using rig = await PostgresRig.start(["--no-project-lock"]);
  const logs = `${rig.data}.postgres/logs`;
  const length = () => statSync(join(logs, `${primary}.log`)).size;
  const client = await rig.client(await rig.uri());
  await client.query("SET client_min_messages = error");
  const flood = "DO $$ BEGIN FOR n IN 1..20 LOOP RAISE WARNING '%', repeat('x', 1000000); END LOOP; END $$";
  for (let sent = 0; sent < 5; sent += 1) await client.query(flood);
  await client.end();
  const until = performance.now() + 20_000;
  while (length() > 4 * megabyte && performance.now() < until) await sleep(50);
  expect(length()).toBeLessThanOrEqual(4 * megabyte);

  await rig.change("DELETE", `/projects/${project}/endpoints/${primary}`);
  await rig.settled();
  while (readdirSync(logs).includes(`${primary}.log`) && performance.now() < until) await sleep(50);
  expect(readdirSync(logs)).not.toContain(`${primary}.log`);
});
