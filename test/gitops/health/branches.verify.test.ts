import { beforeAll, expect, it } from "vitest";
import { BranchWorld } from "../../integration/branch/branches.ts";
import type { KubeObject } from "../../simulation/api-server/objects.ts";
import { findProgram, longestBuildMs } from "../programs.ts";
import { disagreements } from "./verdicts.ts";
import { viewOf } from "./view.ts";

const minute = 60_000;
let versions: readonly KubeObject[];

beforeAll(async () => {
  await findProgram("verdicts");
  versions = await everyVersion();
}, longestBuildMs);

it("kstatus, Flux's copy of it and Argo CD judge every version of a Branch by what its reason means", async () => {
  expect(await disagreements(versions)).toEqual([]);
  const shown = new Set(versions.map((object) => viewOf(object).reason));
  const wanted = ["Available", "BranchExists", "BranchLost", "BranchNotFound", "Creating", "Expired", "Paused"];
  expect(wanted.filter((reason) => !shown.has(reason))).toEqual([]);
  expect(versions.some((object) => viewOf(object).deleting)).toBe(true);
});

/** The versions of Branches on the way through most of what may become of one. */
async function everyVersion(): Promise<KubeObject[]> {
  await using world = new BranchWorld();
  const found: KubeObject[] = [];
  world.server.store.subscribe(({ type, object }) => {
    if (type !== "DELETED" && object.kind === "Branch") found.push(object);
  });
  world.madeElsewhere("preview/taken");
  await world.clock.advance(minute);
  world.branch("short", { expiry: { after: "30m" } });
  world.branch("orphan", { parent: { branchName: "absent" } });
  world.branch("taken", { branchName: "preview/taken" });
  world.branch("lost");
  world.branch("edited");
  for (const name of ["short", "lost", "edited"]) await world.until(name, "Available");
  await world.until("orphan", "BranchNotFound");
  await world.until("taken", "BranchExists");
  world.branch("edited", { expiry: { never: true } });
  world.console("DELETE", `/projects/shop/branches/${world.named("default/lost")?.id}`);
  await world.until("lost", "BranchLost");
  await world.clock.advance(10 * minute);
  world.mark("edited", { paused: "true" });
  await world.until("edited", "Paused");
  await world.until("short", "Expired", 40 * minute);
  world.drop("short");
  world.drop("lost");
  await world.clock.advance(5 * minute);
  return found;
}
