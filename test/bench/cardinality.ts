import { Clusters } from "../simulation/fleet/clusters.ts";
import { isReady } from "../support/is-ready.ts";
import type { Bench, Figure } from "./figures.ts";

const computes = 2000;
const projects = Array.from({ length: 100 }, (_, n) => ({ id: `project-${n}`, branches: [`br-${n}`] }));
const namespaces = 1000;
const scrapes = 50;

/** How large a scrape is and how long it takes, in one process on a driven clock. */
export const cardinality: Bench = {
  name: "cardinality",
  measures: `a scrape of /metrics with ${computes} Computes and as many ServiceConnections as namespaces, without the metrics of Node and the process`,
  async run(progress) {
    const figures: Figure[] = [];
    const fleets = [
      { label: "1 namespace", namespaces: 1, named: 20 },
      { label: `${namespaces} namespaces`, namespaces, named: 20, mostKilobytes: 64, mostMs: 50 },
      { label: `${namespaces} namespaces, each named by --metrics-namespaces`, namespaces, named: namespaces },
    ];
    for (const { label, mostKilobytes, mostMs, ...fleet } of fleets) {
      const { series, kilobytes, ms } = await scraped(fleet.namespaces, fleet.named);
      progress(`${label}: ${series} series`);
      const limits = (below: number | undefined) => (below === undefined ? {} : { below });
      figures.push(
        { name: `${label}: number`, unit: "series", samples: [series] },
        { name: `${label}: size`, unit: "kB", samples: [kilobytes], ...limits(mostKilobytes) },
        { name: `${label}: time`, unit: "ms", samples: ms, ...limits(mostMs) },
      );
    }
    return figures;
  },
};

async function scraped(count: number, metricsNamespaces: number) {
  await using world = new Clusters({ projects });
  const cluster = world.cluster({ metricsNamespaces });
  for (let n = 0; n < count; n += 1) cluster.namespace(`team-${n}`);
  for (let n = 0; n < computes; n += 1) {
    const { id: projectID, branches } = projects[n % projects.length] ?? { id: "", branches: [] };
    cluster.apply(`db-${n}`, { projectID, branchID: branches[0], type: "read_only" }, `team-${n % count}`);
  }
  while (!cluster.computes().every(isReady)) await world.clock.advance(60_000);
  await world.clock.advance(120_000);
  const ms: number[] = [];
  let text = "";
  for (let n = 0; n < scrapes; n += 1) {
    const before = performance.now();
    text = await cluster.metrics();
    ms.push(performance.now() - before);
  }
  return { series: text.match(/^[^#\n]/gm)?.length ?? 0, kilobytes: Buffer.byteLength(text) / 1000, ms };
}
