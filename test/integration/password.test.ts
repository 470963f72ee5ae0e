import { expect, test } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const branch = "br-0-a";
const role = "neondb_owner";
const spec = {
  projectID: "shop",
  branchID: branch,
  scaleToZero: { enabled: false },
  connectionSecret: { name: "shop-db", database: "neondb", role },
};
const hour = 3_600_000;

function password(world: SmallWorld, index = 0): string {
  const encoded = world.secretsOf(index)[0]?.["data"];
  const data: Record<string, string> = typeof encoded === "object" && encoded !== null ? { ...encoded } : {};
  return Buffer.from(data["password"] ?? "", "base64").toString();
}

const reset = (world: SmallWorld) =>
  world.console("POST", `/projects/shop/branches/${branch}/roles/${role}/reset_password`).role.password;

const asked = (world: SmallWorld) => world.host.calls.filter(({ path }) => path.includes("connection_uri"));

const reasonOf = (world: SmallWorld) => world.compute(0).status.conditions?.[0]?.reason;

test("a reset password is in the connection Secret within the hour, and an event on the Compute says so once", async () => {
  await using world = new SmallWorld([branch], 1);
  world.declare(0, spec);
  await world.settle(1);
  const before = password(world);
  const after = reset(world);
  expect(after).not.toBe(before);
  await world.clock.advance(hour);
  expect(password(world)).toBe(after);
  await world.clock.advance(2 * hour);
  expect(world.events("SecretUpdated")).toEqual([
    'The password of role "neondb_owner" changed at the service, and Secret "shop-db" holds the new one. Restart the applications that use the old one.',
  ]);
  expect(world.timesEmitted("SecretUpdated")).toBe(1);
  expect(world.compute(0).status.conditions?.[0]).toMatchObject({ type: "Ready", status: "True" });
});

test("a reset password is in the connection Secret at once if a refresh is requested", async () => {
  await using world = new SmallWorld([branch], 1);
  world.declare(0, spec);
  await world.settle(1);
  const after = reset(world);
  world.annotate(0, "reconcileRequestedAt", "now");
  await world.clock.advance(60_000);
  expect(password(world)).toBe(after);
  expect(world.compute(0).status.lastHandledReconcileAt).toBe("now");
});

test("a password is checked with one request an hour for each Secret, spread over the hour, and nothing is written", async () => {
  await using world = new SmallWorld([branch], 1);
  const count = 12;
  for (let index = 0; index < count; index += 1) {
    world.declare(index, {
      ...spec,
      type: "read_only",
      connectionSecret: { ...spec.connectionSecret, name: `s-${index}` },
    });
  }
  await world.settle(count);
  await world.clock.advance(hour);
  const [versions, before] = [world.versions, asked(world).length];
  const quarters: number[] = [];
  for (let quarter = 0; quarter < 4; quarter += 1) {
    const sofar = asked(world).length;
    // Each quarter begins where the one before ended.
    await world.clock.advance(hour / 4);
    quarters.push(asked(world).length - sofar);
  }
  expect(asked(world).length - before).toBe(count);
  expect(Math.max(...quarters)).toBeLessThan(count);
  expect(world.versions).toEqual(versions);
});

test.each([
  ["role", { role: "nobody" }],
  ["database", { database: "nothing" }],
])("a missing role or database (%s) is reported in condition and event, and no Secret is made", async (what, wrong) => {
  await using world = new SmallWorld([branch], 1);
  world.declare(0, { ...spec, connectionSecret: { ...spec.connectionSecret, ...wrong } });
  await world.clock.advance(60_000);
  expect(reasonOf(world)).toBe("Rejected");
  expect(world.compute(0).status.conditions?.[0]?.message).toContain(`${what} not found`);
  expect(world.events("Rejected").join()).toContain("correct spec.connectionSecret");
  expect(world.secretsOf(0)).toEqual([]);
  world.declare(0, spec);
  await world.settle(1);
  expect(password(world)).not.toBe("");
});

test("a deleted role is reported within the hour until it is back, and the Secret stays as it was", async () => {
  await using world = new SmallWorld([branch], 1);
  const databases = `/projects/shop/branches/${branch}/databases`;
  world.console("POST", databases, { database: { name: "extra", owner_name: role } });
  world.declare(0, { ...spec, connectionSecret: { ...spec.connectionSecret, database: "extra" } });
  await world.settle(1);
  const [secret] = world.secretsOf(0);
  await world.clock.advance(10_000);
  world.console("DELETE", `${databases}/extra`);
  await world.clock.advance(hour + 60_000);
  expect(reasonOf(world)).toBe("Rejected");
  await world.clock.advance(hour);
  expect(reasonOf(world)).toBe("Rejected");
  expect(world.timesEmitted("Rejected")).toBe(1);
  expect(world.secretsOf(0)).toEqual([secret]);
  await world.restart();
  await world.clock.advance(60_000);
  expect(reasonOf(world)).toBe("Rejected");
  world.console("POST", databases, { database: { name: "extra", owner_name: role } });
  await world.clock.advance(hour + 60_000);
  expect(world.compute(0).status.conditions?.[0]).toMatchObject({ type: "Ready", status: "True" });
});

test("a service that cannot be asked for a password leaves Secret and conditions as they are", async () => {
  await using world = new SmallWorld([branch], 1);
  world.declare(0, spec);
  await world.settle(1);
  const [secret] = world.secretsOf(0);
  const after = reset(world);
  world.host.service.setFaults([
    { kind: "503", method: "GET", route: "/projects/{project_id}/connection_uri", rate: 1 },
  ]);
  await world.clock.advance(hour + 60_000);
  expect(world.compute(0).status.conditions?.[0]).toMatchObject({ type: "Ready", status: "True" });
  expect(world.secretsOf(0)).toEqual([secret]);
  world.host.service.setFaults([]);
  await world.clock.advance(600_000);
  expect(password(world)).toBe(after);
});
