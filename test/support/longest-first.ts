import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest: one that begins when all others are done keeps a single core busy, or none. */
export const longest = [
  "test/simulation/crash-points.verify.test.ts",
  "test/service/vendor/neonctl.verify.test.ts",
  "test/simulation/scheduled-fleet.verify.test.ts",
  "test/simulation/seeds.verify.test.ts",
  "test/service/console/console.states.browser.verify.test.ts",
  "test/simulation/fleet/plays.verify.test.ts",
  "test/model/model.verify.test.ts",
  "test/model/branch/branch.verify.test.ts",
  "test/simulation/regressions.verify.test.ts",
  "test/simulation/large-fleet.verify.test.ts",
  "test/integration/convergence.verify.test.ts",
  "test/simulation/day.verify.test.ts",
  "test/e2e/storm.cluster.verify.test.ts",
  "test/e2e/settled.cluster.verify.test.ts",
  "test/e2e/interrupted.cluster.verify.test.ts",
  "test/e2e/demo-postgres.cluster.verify.test.ts",
  "test/deploy/pull-requests.cluster.verify.test.ts",
  "test/deploy/pull-requests.verify.test.ts",
  "test/e2e/trouble.cluster.verify.test.ts",
  "test/e2e/one-write.cluster.verify.test.ts",
  "test/e2e/demo.cluster.test.ts",
  "test/simulation/conformance.cluster.test.ts",
  "test/simulation/planted-bugs.test.ts",
  "test/simulation/seeds.test.ts",
  "test/model/model.test.ts",
  "test/simulation/fleet/plays.test.ts",
  "test/model/branch/branch.test.ts",
] as const;

/** Begins with the longest files of a project; Vitest itself knows them only where it has run before. */
export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = (a: TestSpecification, b: TestSpecification) =>
      byText(a.project.name, b.project.name) || placeOf(a) - placeOf(b) || byText(a.moduleId, b.moduleId);
    return Promise.resolve(files.toSorted(order));
  }
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function placeOf({ moduleId }: TestSpecification): number {
  const file = relative(process.cwd(), moduleId).replaceAll("\\", "/");
  const place = longest.findIndex((each) => each === file);
  return place === -1 ? longest.length : place;
}
