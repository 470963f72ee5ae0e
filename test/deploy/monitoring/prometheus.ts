import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Child } from "../../support/child.ts";
import { programPath } from "../../support/debian.ts";
import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { freePort } from "../../support/ports.ts";

const answer = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string().transform(Number)])),
      }),
    ),
  }),
});

/** One line of a graph. */
export interface Series {
  labels: Readonly<Record<string, string>>;
  /** Seconds since the epoch, and the value then. */
  points: readonly (readonly [number, number])[];
}

/** A real Prometheus that scrapes one target, as it would by the ServiceMonitor. */
export class Prometheus implements AsyncDisposable {
  readonly #url: string;
  readonly #child: Child;
  readonly #directory: ReturnType<typeof temporaryDirectory>;

  static async start(target: string, everySeconds: number): Promise<Prometheus> {
    const command = await programPath({
      purpose: "A Prometheus is needed for the dashboard's picture",
      variable: "PROMETHEUS",
      path: "/usr/bin/prometheus",
      package: "prometheus",
    });
    const directory = temporaryDirectory("prometheus");
    const labels = { namespace: "compute-operator-system", pod: "compute-operator-0" };
    const job = { job_name: "compute-operator", static_configs: [{ targets: [new URL(target).host], labels }] };
    const config = { global: { scrape_interval: `${everySeconds}s` }, scrape_configs: [job] };
    writeFileSync(join(directory.path, "prometheus.yml"), JSON.stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const args = [
      `--config.file=${join(directory.path, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(directory.path, "data")}`,
      `--web.listen-address=${address}`,
    ];
    const child = await Child.start({ name: "prometheus", command, args });
    const prometheus = new Prometheus(`http://${address}`, child, directory);
    await eventually("Prometheus to be ready", async () => {
      return (await fetch(`http://${address}/-/ready`)).ok || undefined;
    });
    return prometheus;
  }

  private constructor(url: string, child: Child, directory: ReturnType<typeof temporaryDirectory>) {
    this.#url = url;
    this.#child = child;
    this.#directory = directory;
  }

  /** What a query gives over a time, in seconds since the epoch. */
  async range(query: string, start: number, end: number, step: number): Promise<Series[]> {
    const parameters = new URLSearchParams({ query, start: `${start}`, end: `${end}`, step: `${step}` });
    const response = await fetch(`${this.#url}/api/v1/query_range`, { method: "POST", body: parameters });
    if (!response.ok) throw new Error(`${query}: ${await response.text()}`);
    const { data } = answer.parse(await response.json());
    return data.result.map(({ metric, values }) => ({
      labels: metric,
      points: values.filter(([, value]) => Number.isFinite(value)),
    }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill();
    this.#directory.remove();
  }
}
