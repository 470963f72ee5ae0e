import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { withPart } from "../../scripts/page-part.ts";
import { kubectl } from "../control-plane/shared-control-plane.ts";
import { manifest } from "./support/manifests.ts";
import type { Scenario, ScenarioOptions } from "./support/scenario.ts";
import { main, preview, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

const primary = { id: "ep-cool-term-123456", branchID: main };
/** Operations take minutes, so that their progress can be read. */
const slow = { service: { timeScale: 0.002 }, endpoints: [primary] };
/** As in the README: the branch is given by its name. */
const branchName = "main";
const adopt = { branchPrimary: true };
const endpoint = `/projects/${project}/endpoints/${primary.id}`;

interface Moment {
  title: string;
  meaning: string;
  service: ScenarioOptions;
  reach: (shop: Scenario) => Promise<unknown>;
}

async function adopted(shop: Scenario, spec: Record<string, unknown> = {}): Promise<void> {
  await shop.compute("shop-primary", { adopt, branchName, ...spec });
  await shop.ready("shop-primary");
}

const moments: readonly Moment[] = [
  {
    title: "Creating",
    meaning: "The endpoint was made and is being started.",
    service: { service: slow.service },
    reach: async (shop) => {
      await shop.compute("shop-primary", { branchName, computeUnits: { min: 0.25, max: 2 } });
      await shop.until("shop-primary", "its endpoint", ({ status }) => status.endpointID !== undefined);
    },
  },
  {
    title: "Starting",
    meaning: "A connection woke it: that is the service's own doing, so it stays ready.",
    service: slow,
    reach: async (shop) => {
      await adopted(shop);
      shop.console("POST", `/_connect/${primary.id}?seconds=6000`);
      await shop.until("shop-primary", "its start", ({ status }) => status.state === "Starting");
    },
  },
  {
    title: "Active",
    meaning: "As declared, and running.",
    service: { endpoints: [primary] },
    reach: async (shop) => {
      await adopted(shop);
      shop.console("POST", `/_connect/${primary.id}?seconds=6000`);
      await shop.reason("shop-primary", "Active");
    },
  },
  {
    title: "Idle",
    meaning: "As declared, and suspended by the service: the first connection wakes it.",
    service: slow,
    reach: (shop) => adopted(shop),
  },
  {
    title: "Updating",
    meaning: "A change of the spec was accepted and is being carried out.",
    service: slow,
    reach: async (shop) => {
      await shop.compute("shop-primary", { adopt, branchName, computeUnits: { min: 1, max: 4 } });
      await shop.reason("shop-primary", "Updating");
    },
  },
  {
    title: "Moving",
    meaning: "`spec.branchName` was changed: the endpoint keeps its host.",
    service: slow,
    reach: async (shop) => {
      await adopted(shop);
      await shop.edit("shop-primary", { branchName: "preview" });
      await shop.reason("shop-primary", "Moving");
    },
  },
  {
    title: "Restarting",
    meaning: "The annotation `compute-operator.dev/restartedAt` has a new value.",
    service: slow,
    reach: async (shop) => {
      await adopted(shop);
      await shop.annotate("shop-primary", "restartedAt", "2026-01-01T12:00:00Z");
      await shop.reason("shop-primary", "Restarting");
    },
  },
  {
    title: "Disabled",
    meaning: "`spec.disabled` is true: it takes no connections.",
    service: slow,
    reach: (shop) => adopted(shop, { disabled: true }),
  },
  {
    title: "Lost",
    meaning: "The endpoint is gone at the service; the reason says what happens next.",
    service: slow,
    reach: async (shop) => {
      await adopted(shop, { driftPolicy: "Report" });
      shop.console("DELETE", endpoint);
      await shop.reason("shop-primary", "EndpointLost");
    },
  },
  {
    title: "Deleting",
    meaning: "`kubectl delete` was asked for; here it waits, since the Compute is paused.",
    service: slow,
    reach: async (shop) => {
      await adopted(shop);
      await shop.annotate("shop-primary", "paused", "true");
      await shop.reason("shop-primary", "Paused");
      await shop.cluster.delete("Compute", shop.namespace, "shop-primary");
      await shop.until("shop-primary", "its deletion", ({ status }) => status.state === "Deleting");
    },
  },
  {
    title: "NotCreated",
    meaning: "There is no endpoint; the reason says why, and what comes next.",
    service: slow,
    reach: async (shop) => {
      await shop.cluster.create("Compute", shop.namespace, manifest("shop-primary", { branchName }));
      await shop.reason("shop-primary", "PrimaryExists");
    },
  },
  {
    title: "Unknown",
    meaning:
      "An endpoint is linked that was never seen, and cannot be: here a Compute was restored before its connection. One that was seen keeps the state that it had.",
    service: slow,
    reach: async (shop) => {
      const restored = manifest("shop-primary", { branchName, connectionRef: { name: "restored-later" } });
      const annotations = { "compute-operator.dev/endpoint-id": primary.id };
      const metadata = { ...restored.metadata, annotations };
      await shop.cluster.create("Compute", shop.namespace, { ...restored, metadata });
      await shop.reason("shop-primary", "ConnectionNotFound");
    },
  },
];

/** kubectl's table with values that differ between runs replaced, and its columns aligned again. */
function steady(text: string): string {
  const [head = "", ...lines] = text.trimEnd().split("\n");
  const starts = [...head.matchAll(/\S+/g)].map(({ index }) => index);
  const cells = [head, ...lines].map((line) =>
    starts.map((start, column) =>
      line
        .slice(start, starts[column + 1])
        .trim()
        .replaceAll(/ep-[a-z]+-[a-z]+-[0-9a-f]{8}/g, primary.id)
        .replace(/^(\d+[ms])+$/, "5s"),
    ),
  );
  const widths = starts.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

async function chapter({ title, meaning, service, reach }: Moment): Promise<string> {
  const shop = await stage().scenario(service);
  for (const [id, name] of [
    [main, branchName],
    [preview, "preview"],
  ]) {
    shop.console("PATCH", `/projects/${project}/branches/${id}`, { branch: { name } });
  }
  await reach(shop);
  const get = async (...wide: string[]) =>
    steady(await kubectl(["--namespace", shop.namespace, "get", "computes", ...wide]));
  const short = await get();
  // The ids are the same in each state.
  const wide = title === "Active" ? `\n\n$ kubectl get computes -o wide\n${await get("-o", "wide")}` : "";
  return `### ${title}\n\n${meaning}\n\n\`\`\`\n$ kubectl get computes\n${short}${wide}\n\`\`\`\n`;
}

const page = "docs/kubectl.md";

it(`${page} shows what kubectl get computes prints in each state`, async () => {
  const chapters = await Promise.all(moments.map(chapter));
  const written = withPart(readFileSync(page, "utf8"), "states", chapters.join("\n"));
  await expect(written).toMatchFileSnapshot(`../../${page}`);
});
