// Draws deploy/monitoring/dashboard.json as it shows a real run, into docs/images/dashboard.png: npm run generate
// -- dashboard --minutes N. Operator, API server, service and Prometheus are real, and so is every value; only the
// lines are drawn by draw.ts and not by Grafana.
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startBrowser } from "../../service/console/chromium.ts";
import { People } from "../../soak/people.ts";
import { namespace, residentMB, SoakStage } from "../../soak/soak-stage.ts";
import { endEverything } from "../../support/guardian.ts";
import { freePort } from "../../support/ports.ts";
import { dashboard, digest, digestFile, filledIn } from "./dashboard.ts";
import { drawn, type Line, nameOf } from "./draw.ts";
import { Prometheus } from "./prometheus.ts";

const scrapeSeconds = 5;
/** As Grafana takes it: four scrapes, and more where a point stands for more. */
const rateInterval = "30s";
const actEveryMs = 2500;
const computes = 24;
const file = join(import.meta.dirname, "..", "..", "..", "docs", "images", "dashboard.png");

const { values } = parseArgs({ options: { minutes: { type: "string", default: "12" } } });
await picture(Number(values.minutes) * 60);
await endEverything();
process.exit(0);

async function picture(seconds: number): Promise<void> {
  console.error("setting the stage: control plane, service, the operator's image, Prometheus");
  await using stage = await SoakStage.start(computes);
  const { installation } = stage;
  await using target = await scraped(stage);
  await using prometheus = await Prometheus.start(target.url, scrapeSeconds);
  const start = Date.now() / 1000;
  const end = start + seconds;
  const { service } = installation;
  const workload = new People({ cluster: stage.cluster, service, namespace, projects: stage.projects, computes });
  await workload.declare();
  await stage.faults(true);
  for (let renewed = start; Date.now() / 1000 < end; ) {
    await workload.act();
    await sleep(actEveryMs);
    if (Date.now() / 1000 - renewed < 240) continue;
    renewed = Date.now() / 1000;
    await installation.operator.renewToken();
    console.error(`${Math.round((end - renewed) / 60)} minutes to go`);
  }
  const lines = new Map<number, Line[]>();
  for (const { id, targets = [] } of dashboard.panels) {
    const found: Line[] = [];
    for (const { expr, legendFormat } of targets) {
      const series = await prometheus.range(filledIn(expr, rateInterval), start, end, scrapeSeconds);
      found.push(...series.map(({ labels, points }) => ({ name: nameOf(legendFormat, labels), points })));
    }
    lines.set(
      id,
      found.filter(({ points }) => points.length > 0).toSorted((a, b) => weight(b) - weight(a)),
    );
  }
  await photograph(drawn({ panels: dashboard.panels, lines, start, end }));
}

/** The operator's metrics. Its image has no /proc here, as every container has: what it would read there is put in. */
async function scraped({ installation: { operator } }: SoakStage): Promise<AsyncDisposable & { url: string }> {
  const port = await freePort();
  const server = createServer((_, response) => {
    void (async () => {
      const answer = await fetch(`${operator.url}/metrics`);
      const resident = Math.round(residentMB(operator.child.pid) * 1024 * 1024);
      const text = (await answer.text()).replace(
        /^process_resident_memory_bytes .*$/m,
        `process_resident_memory_bytes ${resident}`,
      );
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(text);
    })();
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What is most of a panel is named first. */
function weight({ points }: Line): number {
  return points.reduce((sum, [, value]) => sum + value, 0);
}

async function photograph(html: string): Promise<void> {
  const browser = await startBrowser();
  const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
  await page.setContent(html);
  mkdirSync(dirname(file), { recursive: true });
  await page.locator("main").screenshot({ path: file });
  await browser.close();
  writeFileSync(digestFile, `${digest()}\n`);
}
