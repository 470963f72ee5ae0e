import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "vitest";
import { parse } from "yaml";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { needsTools, runTool } from "../tools/tools.ts";
import { Installation } from "./installation.ts";
import { chart, helm, installNamespace } from "./render.ts";
import { endpointsOf, previousCrds, previousSeed, restore } from "./restored.ts";

needsTools("helm");

const crds = ["computes", "serviceconnections", "computepools"].map((name) => `${previousCrds}/${name}.yaml`);

/** What each Compute is to say once the new operator has reconciled it, by name. */
const expected = {
  adopted: "Idle",
  created: "Idle",
  moved: "Idle",
  named: "Idle",
  off: "Disabled",
  paused: "Paused",
  pending: "Idle",
  "readers-0": "Idle",
  "readers-1": "Idle",
  refused: "Conflict",
  reported: "Drifted",
  restarted: "Idle",
};

/** How a version is installed and later replaced: first the definitions of the previous one, then all of this one. */
const ways = {
  "kubectl apply": {
    async before(installation: Installation): Promise<void> {
      for (const file of crds) await installation.kubectl("apply", "-f", file);
    },
    upgrade: (installation: Installation) => installation.install("deploy"),
  },
  "helm upgrade": {
    async before(installation: Installation): Promise<void> {
      const former = temporaryDirectory("chart");
      cpSync(chart, former.path, { recursive: true });
      for (const file of crds) {
        const definition: { metadata: object } = parse(readFileSync(file, "utf8"));
        const metadata = { ...definition.metadata, annotations: { "helm.sh/resource-policy": "keep" } };
        writeFileSync(join(former.path, "files/crds", basename(file)), JSON.stringify({ ...definition, metadata }));
      }
      await run(installation, "install", "compute-operator", former.path, "--create-namespace");
      former.remove();
    },
    async upgrade(installation: Installation): Promise<void> {
      await run(installation, "upgrade", "compute-operator", chart);
      await installation.startOperator(await helm());
    },
  },
};

async function run(installation: Installation, ...args: string[]): Promise<void> {
  const where = ["--namespace", installNamespace, "--kubeconfig", installation.cluster.kubeconfig];
  const { status, stderr } = await runTool("helm", [...args, ...where]);
  if (status !== 0) throw new Error(stderr);
}

describe.concurrent.each(Object.entries(ways))("by %s", (_name, way) => {
  it("a fleet that an earlier operator left is taken over, and nothing at the service changes", async ({ expect }) => {
    await using installation = await Installation.start({ seed: previousSeed() });
    const ofComputes = (path: string) => {
      const columns = `custom-columns=:.metadata.name,:${path}`;
      return installation.kubectl("get", "computes", "-n", "shop", "--no-headers", "-o", columns);
    };
    const described = async () => {
      const crd = "crd/computes.compute-operator.dev";
      return (await installation.kubectl("get", crd, "-o", "json")).includes("is deprecated at the public service");
    };
    await way.before(installation);
    await installation.definitionsServed();
    await restore(installation);
    const endpoints = await endpointsOf(installation);
    expect(await described()).toBe(false);

    await way.upgrade(installation);
    // The definitions are those of today.
    expect(await described()).toBe(true);
    await eventually("every Compute to be reconciled", async () => {
      const reasons = await ofComputes('.status.conditions[?(@.type=="Ready")].reason');
      const shown = reasons
        .trim()
        .split("\n")
        .map((line) => line.split(/ +/));
      return JSON.stringify(Object.fromEntries(shown)) === JSON.stringify(expected) || undefined;
    }).catch(async (error: unknown) => {
      throw new Error(await installation.kubectl("get", "computes", "-n", "shop", "-o", "wide"), { cause: error });
    });
    // Some refreshes more, in which all that it might still be up to would be done.
    const lists = () => installation.counter.reads.filter(({ path }) => path.endsWith("/endpoints")).length;
    const seen = lists();
    await eventually("three more lists", () => lists() >= seen + 3 || undefined);

    expect(installation.counter.writes).toEqual([]);
    expect(await endpointsOf(installation)).toEqual(endpoints);
    const links = await ofComputes(".metadata.annotations.compute-operator\\.dev/endpoint-id");
    for (const { id } of endpoints) expect(links).toContain(id);
    const [header, ...rows] = (await installation.kubectl("get", "computes", "-n", "shop")).trim().split("\n");
    expect(header?.split(/ +/)).toEqual([
      "NAME",
      "TYPE",
      "BRANCH",
      "SIZE",
      "STATE",
      "READY",
      "REASON",
      "LAST-ACTIVE",
      "AGE",
    ]);
    expect(rows).toHaveLength(Object.keys(expected).length);
    const pool = "jsonpath={.status.replicas}/{.status.readyReplicas}";
    expect(await installation.kubectl("get", "computepool", "readers", "-n", "shop", "-o", pool)).toBe("2/2");
  });
});
