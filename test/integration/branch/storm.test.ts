import { expect, it } from "vitest";
import { PublicApi } from "../../service/vendor/public-api.ts";
import { BranchWorld, hour } from "./branches.ts";

const publicApi = new PublicApi();
const count = 40;
const names = Array.from({ length: count }, (_, index) => `pr-${index}`);
const ends = [{ after: "72h" }, { after: "240h" }, { never: true }];

/** One request in three does not go well: its answer is lost, it never arrives, or it is refused for now. */
const storm = [
  { method: "*", route: "*", kind: "drop-after", rate: 0.15 },
  { method: "*", route: "*", kind: "drop-before", rate: 0.1 },
  { method: "*", route: "*", kind: "503", rate: 0.1 },
] as const;

it.each([1, 2, 3])(
  "a storm over forty Branches leaves as many branches as are declared, and none of another is touched: seed %i",
  { timeout: 60_000 },
  async (seed) => {
    await using world = new BranchWorld({ seed });
    world.madeElsewhere("of-people");
    await world.clock.advance(10_000);
    world.madeElsewhere("preview/of-people");
    await world.clock.advance(10_000);
    const strangers = world.made;
    world.host.service.setFaults(storm);
    for (const [index, name] of names.entries()) world.branch(name, { expiry: ends[index % ends.length] });
    await world.clock.advance(60_000);
    // The operator dies amid its requests, users change their minds.
    await world.restart(() => {
      for (const name of names.slice(0, 10)) world.branch(name, { expiry: { after: "100h" } });
    });
    await world.clock.advance(60_000);
    const dropped = names.slice(30, 36);
    for (const name of dropped) world.drop(name);
    await world.clock.advance(120_000);
    await world.restart();
    world.host.service.setFaults([]);
    await world.clock.advance(hour);

    // One write for each Branch, each edit and each deletion, and those that the storm took.
    expect(world.writes.length).toBeGreaterThan(count + 10 + 6);
    const declared = names.filter((name) => !dropped.includes(name));
    expect(declared.filter((name) => world.reason(name) !== "Available")).toEqual([]);
    expect(dropped.filter((name) => !world.isDropped(name))).toEqual([]);
    const branches = declared.map((name) => `default/${name}`);
    expect(world.made.map(({ name }) => name).toSorted()).toEqual(
      [...branches, ...strangers.map(({ name }) => name)].toSorted(),
    );
    expect(world.made.filter(({ id }) => strangers.some((one) => one.id === id))).toEqual(strangers);
    // Each that stays is the one that its object names, with the end that its spec asks for.
    for (const name of declared) expect(world.object(name).status.branchID).toBe(world.named(`default/${name}`)?.id);
    for (const name of declared.slice(0, 10)) {
      expect(world.msUntil(world.named(`default/${name}`)?.expires_at)).toBeGreaterThan(90 * hour);
    }
    const problems = world.host.calls.flatMap(({ method, path, body }) =>
      publicApi.requestProblems(method, new URL(path, "http://service.test").pathname, body),
    );
    expect(problems).toEqual([]);
    const before = world.writes.length;
    await world.clock.advance(hour);
    expect(world.writes).toHaveLength(before);
  },
);

it("a request that the public API would not take is one that a storm of Branches may not send", () => {
  const path = "/projects/shop/branches/br-1";
  const requestProblems = (body: unknown) => publicApi.requestProblems("PATCH", path, body);
  expect(requestProblems({ branch: { expires_at: "2026-01-01T00:00:00Z" } })).toEqual([]);
  expect(requestProblems({ branch: { expires_at: "soon" } })).toEqual([expect.stringContaining("/branch/expires_at")]);
  expect(publicApi.requestProblems("PUT", path, undefined)).toEqual([`the public API has no PUT ${path}`]);
});
