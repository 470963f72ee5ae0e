import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "../../src/api/endpoint.ts";
import { startControlPlane } from "../control-plane/control-plane.ts";
import { crdsServed, installCrds } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { compute, defaultBranch, seedOf } from "../e2e/manifests.ts";
import { connect } from "../e2e/process-stage.ts";
import type { JsonObject, KubeObject } from "../simulation/api-server/objects.ts";
import { Dice } from "../simulation/dice.ts";
import { seededRandom } from "../simulation/random.ts";
import { conditionOf, linkedID, specOf, statusOf } from "../simulation/world/computes.ts";
import { eventually } from "../support/eventually.ts";
import { isReady } from "../support/is-ready.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { earlierVersion } from "./earlier-version.ts";
import { PatientCluster, pathOf } from "./patient-cluster.ts";

export interface UpgradeReport {
  rounds: number;
  /** Computes whose create or restart had no known outcome when the earlier version was killed. */
  open: number;
  problems: string[];
}

const project = "shiny-wind-028834";
const namespace = "shop";
const settleSeconds = 20;
const branches = Array.from({ length: 10 }, (_, index) => `br-${index}`);

/** Lost, late and refused requests, creates most of all. */
const faults: readonly object[] = [
  { method: "POST", route: "/projects/{project_id}/endpoints", kind: "drop-after", rate: 0.4 },
  { method: "POST", route: "/projects/{project_id}/endpoints", kind: "drop-before", rate: 0.2 },
  { method: "PATCH", route: "/projects/{project_id}/endpoints/{endpoint_id}", kind: "drop-after", rate: 0.4 },
  { method: "POST", route: "/projects/{project_id}/endpoints/{endpoint_id}/restart", kind: "drop-after", rate: 0.4 },
  { kind: "delay", ms: 6000, rate: 0.05 },
  { kind: "500", rate: 0.03 },
];

/**
 * Kills an earlier version with SIGKILL while its requests are lost and late, and lets this version take over, which is
 * killed a few times too. Afterwards each Compute has its one endpoint, none is lost, and none is disabled unasked.
 */
export async function upgradeUnderKills(
  { commit, rounds, seed }: { commit: string; rounds: number; seed: number },
  progress: (line: string) => void = () => {},
): Promise<UpgradeReport> {
  using earlier = earlierVersion(commit);
  const report: UpgradeReport = { rounds, open: 0, problems: [] };
  for (let round = 1; round <= rounds; round += 1) {
    const dice = new Dice(seededRandom(seed * 1000 + round));
    const { open, problems } = await upgradeOnce(earlier, dice);
    report.open += open;
    report.problems.push(...problems);
    for (const problem of problems) progress(`round ${round}: ${problem}`);
    progress(`${round} of ${rounds} upgrades from ${commit}, ${report.open} open, ${report.problems.length} problems`);
  }
  return report;
}

async function upgradeOnce(
  earlier: { source: string; crds: string },
  dice: Dice,
): Promise<{ open: number; problems: string[] }> {
  await using controlPlane = await startControlPlane();
  const { kubeconfig, admin } = controlPlane;
  for (const name of ["computes", "serviceconnections", "computepools"])
    await kubectl(["apply", "--server-side", "-f", join(earlier.crds, `${name}.yaml`)], admin);
  await crdsServed(admin);
  const seed = seedOf([{ id: project, branches }]);
  await using service = await ServiceProcess.start({ seed, timeScale: 5, args: ["--faults"] });
  await using cluster = new PatientCluster(kubeconfig);
  const options = {
    kubeconfig,
    allowedBaseURLs: [service.baseURL],
    args: ["--no-leader-elect", `--create-settle=${settleSeconds}s`],
  };
  await kubectl(["create", "namespace", namespace], admin);
  await connect(namespace, admin, { baseURL: service.baseURL });
  const declare = (name: string, spec: JsonObject & { branchID: string }) => {
    const body = compute(name, { projectID: project, ...spec });
    return cluster.request({ method: "POST", path: pathOf(namespace, "computes"), body });
  };

  await using before = await OperatorProcess.prepare({ ...options, source: earlier.source });
  await before.start();
  await declare("adopted", { branchID: `${defaultBranch}-${project}`, adopt: { branchPrimary: true } });
  for (const index of [0, 1, 2]) await declare(`old-${index}`, { branchID: `br-${index}`, type: "read_write" });
  for (const index of [3, 4, 5]) await declare(`old-${index}`, { branchID: `br-${index}`, type: "read_only" });
  await eventually("the first Computes to be ready", async () => {
    const computes = await cluster.list(namespace, "computes");
    return computes.length === 7 && computes.every(isReady) ? true : undefined;
  });
  const standing = await service.endpoints(project);

  await service.setFaults(faults);
  const edits = [0, 1, 2, 3, 4, 5].map((index) => () => disturb(cluster, `old-${index}`, dice));
  const news = [6, 7, 8, 9].flatMap((index) => [
    () => declare(`new-${index}`, { branchID: `br-${index}`, type: "read_write" }),
    () => declare(`reader-${index}`, { branchID: `br-${index}`, type: "read_only" }),
  ]);
  for (const deed of dice.shuffled<() => Promise<unknown>>([...edits, ...news])) await deed();
  await sleep(dice.between(50, 4000));
  await before.kill();
  const open = (await cluster.list(namespace, "computes")).filter(isOpen).length;

  await installCrds(admin);
  await using after = await OperatorProcess.prepare(options);
  for (let life = dice.between(1, 4); life > 0; life -= 1) {
    await after.launch();
    await sleep(dice.between(500, 12_000));
    await after.kill();
  }
  await service.setFaults([]);
  await after.start();
  const problems = await unsettled(cluster);
  // What was disabled before or during the upgrade is enabled again once the field goes.
  for (const index of [0, 1, 2, 3, 4, 5]) await enable(cluster, `old-${index}`);
  problems.push(...(await unsettled(cluster)));
  problems.push(...wrongIn(await cluster.list(namespace, "computes"), standing, await service.endpoints(project)));
  return { open, problems };
}

/** Waits until every Compute is ready; answers which are not after five minutes, and why. */
async function unsettled(cluster: PatientCluster): Promise<string[]> {
  const waiting = async () => (await cluster.list(namespace, "computes")).filter((one) => !isReady(one));
  const all = async () => ((await waiting()).length === 0 ? true : undefined);
  try {
    await eventually("every Compute to be ready", all, { timeoutMs: 300_000 });
    return [];
  } catch {
    return (await waiting()).map(
      (one) => `${one.metadata.name} is not ready: ${JSON.stringify(conditionOf(one, "Ready"))}`,
    );
  }
}

/** An edit, a restart, or that the Compute be disabled. */
function disturb(cluster: PatientCluster, name: string, dice: Dice): Promise<boolean> {
  const path = pathOf(namespace, "computes", name);
  const at = `round-${dice.between(1, 1000)}`;
  return dice.weighted<() => Promise<boolean>>([
    [2, () => () => cluster.patch(path, [{ op: "add", path: "/spec/disabled", value: true }])],
    [1, () => () => cluster.patch(path, [{ op: "add", path: "/spec/computeUnits", value: { min: 1, max: 2 } }])],
    [
      2,
      () => () =>
        cluster.patch(path, [
          { op: "add", path: "/metadata/annotations/compute-operator.dev~1restartedAt", value: at },
        ]),
    ],
  ])();
}

function enable(cluster: PatientCluster, name: string): Promise<boolean> {
  const path = pathOf(namespace, "computes", name);
  return cluster.patch(path, [
    { op: "add", path: "/spec/disabled", value: true },
    { op: "remove", path: "/spec/disabled" },
  ]);
}

function wrongIn(computes: readonly KubeObject[], before: readonly Endpoint[], now: readonly Endpoint[]): string[] {
  const lost = before.filter(({ id }) => !now.some((endpoint) => endpoint.id === id));
  const linked = new Set(computes.map(linkedID));
  const strangers = now.filter(({ id }) => !linked.has(id));
  return [
    ...lost.map(({ id }) => `${id} stood before the upgrade and is gone`),
    ...strangers.map(({ id, name }) => `${id} (${name}) belongs to no Compute`),
    ...computes.flatMap((one) => {
      const { name, uid } = one.metadata;
      const endpoint = now.find(({ id }) => id === linkedID(one));
      if (endpoint === undefined) return [`${name} has no endpoint`];
      const own = now.filter((candidate) => candidate.name?.includes(uid) === true);
      return [
        ...(own.length > 1 ? [`${own.map(({ id }) => id).join(" and ")} were made for ${name}`] : []),
        ...(endpoint.branch_id === specOf(one)["branchID"] ? [] : [`${name} is on ${endpoint.branch_id}`]),
        ...(endpoint.disabled === true ? [`${name} is disabled, and nothing asks for that`] : []),
      ];
    }),
  ];
}

function isOpen(one: KubeObject): boolean {
  return statusOf(one)["pendingWrite"] !== undefined;
}
