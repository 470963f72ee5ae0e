import { setTimeout as sleep } from "node:timers/promises";
import { startControlPlane } from "../../control-plane/control-plane.ts";
import { installCrds } from "../../control-plane/crds.ts";
import { goodKey, seedOf } from "../../e2e/manifests.ts";
import { type CountedRequest, CountingProxy } from "../../support/counting-proxy.ts";
import { eventually } from "../../support/eventually.ts";
import { ServiceProcess } from "../../support/processes.ts";
import { quantile } from "../figures.ts";
import { apiRequests, type Counts, callsByRoute, since, sum } from "./counts.ts";
import { Fleet, type FleetSize } from "./fleet.ts";
import { cpuSeconds, forgetPeak, memoryOf } from "./process-figures.ts";
import type { Subject } from "./subject.ts";

/** One size of fleet at one kind of service. */
export interface Setting extends FleetSize {
  /** Whether an operation locks its project, as at the public service. */
  locks: boolean;
}

/** What one program needed for one fleet. Times in seconds, memory in megabytes. */
export interface Round {
  setting: Setting;
  subject: Subject["name"];
  /** How many were Ready when time was up, where not all were. */
  ready: number;
  /** From the end of kubectl until the last Compute was Ready. */
  readyAfter: number;
  kubectl: number;
  calls: Counts;
  apiRequests: Counts;
  cpu: number;
  rss: { idle: number; peak: number; after: number; settled: number };
  /** Median and 99th percentile: from ADDED to the arrival of the create, from its answer to the link in the status. */
  toWrite: Percentiles;
  toStatus: Percentiles;
  /** Of one minute in which nothing changes; extrapolated from what was measured. */
  settled: { calls: number; apiRequests: number; cpu: number };
  /** From the change of one Compute to its write. */
  change: number;
  /** What kept the event loop busy longest: while the fleet came up, while it rested, and after a start. */
  longestTask: { creating: number; resting: number; starting: number };
  /** From the start of the process to the write of a change that was made while it was down, and the calls by then. */
  cold: { seconds: number; calls: number; peak: number };
}

interface Percentiles {
  p50: number;
  p99: number;
}

const settleMs = 8000;
const settledMs = 30_000;
/** Makes the service's operations take some 50 ms. */
const timeScale = 10.5;

/** Measures one program on one fleet, on a control plane and a service of its own. */
export async function measure(
  setting: Setting,
  subject: Subject,
  timeoutMs: number,
  progress: (line: string) => void,
): Promise<Round> {
  await using controlPlane = await startControlPlane();
  await installCrds({ kubeconfig: controlPlane.kubeconfig, kubectl: controlPlane.binaries.kubectl });
  const args = ["--data", ":memory:", "--no-rate-limits", ...(setting.locks ? [] : ["--no-project-lock"])];
  await using service = await ServiceProcess.start({ seed: seedOf(Fleet.projectsFor(setting)), timeScale, args });
  await using proxy = await CountingProxy.start(service);
  const fleet = new Fleet(setting, controlPlane);
  await fleet.prepare(proxy.baseURL);
  const place = { kubeconfig: controlPlane.kubeconfig, baseURL: proxy.baseURL, key: goodKey };
  let running = await subject.start(place);
  const { child } = running;
  try {
    await sleep(3000);
    const idle = memoryOf(child.pid).rssMB;
    progress(`idle: ${idle.toFixed(0)} MB`);
    forgetPeak(child.pid);
    await running.longestTask();
    proxy.clear();
    const before = { cpu: cpuSeconds(child.pid), api: await apiRequests(controlPlane) };
    const { began, ended } = await fleet.create();
    progress(`kubectl has ended after ${((ended - began) / 1000).toFixed(1)} s`);
    const lastAt = await fleet.allReady(timeoutMs).catch(() => Number.NaN);
    const writes = [...proxy.requests];
    const api = since(before.api, await apiRequests(controlPlane));
    await sleep(2000);
    const cpu = cpuSeconds(child.pid) - before.cpu;
    const creating = await running.longestTask();
    const { rssMB: after, peakMB: peak } = memoryOf(child.pid);
    progress(
      `all Ready ${((lastAt - ended) / 1000).toFixed(1)} s later; CPU ${cpu.toFixed(1)} s, peak ${peak.toFixed(0)} MB`,
    );

    await sleep(settleMs);
    proxy.clear();
    const rest = { cpu: cpuSeconds(child.pid), api: await apiRequests(controlPlane) };
    await sleep(settledMs);
    const perMinute = 60_000 / settledMs;
    const settled = {
      calls: proxy.requests.length * perMinute,
      apiRequests: sum(since(rest.api, await apiRequests(controlPlane))) * perMinute,
      cpu: (cpuSeconds(child.pid) - rest.cpu) * perMinute,
    };
    const resting = await running.longestTask();
    const settledMB = memoryOf(child.pid).rssMB;

    proxy.clear();
    const changedAt = performance.now();
    await fleet.resize("compute-0", 4);
    const change = (await firstWrite(proxy)).arrivedAt - changedAt;

    await sleep(2000);
    await child.stop();
    await fleet.resize("compute-0", 2);
    proxy.clear();
    const startedAt = performance.now();
    running = await subject.start(place);
    const write = await firstWrite(proxy);
    const calls = proxy.requests.filter(({ arrivedAt }) => arrivedAt <= write.arrivedAt).length;
    await sleep(3000);
    const starting = await running.longestTask();
    const cold = { seconds: (write.arrivedAt - startedAt) / 1000, calls, peak: memoryOf(running.child.pid).peakMB };
    return {
      setting,
      subject: subject.name,
      ready: fleet.ready,
      readyAfter: (lastAt - ended) / 1000,
      kubectl: (ended - began) / 1000,
      calls: callsByRoute(writes),
      apiRequests: api,
      cpu,
      rss: { idle, peak, after, settled: settledMB },
      ...latencies(fleet, writes),
      settled,
      change: change / 1000,
      longestTask: { creating, resting, starting },
      cold,
    };
  } finally {
    fleet.stop();
    await running.child.kill();
  }
}

/** Waits for the first write that the service accepts. */
function firstWrite(proxy: CountingProxy): Promise<CountedRequest> {
  return eventually("a write", () => proxy.writes.find(({ status = 500 }) => status < 300), {
    timeoutMs: 60_000,
    everyMs: 5,
  });
}

function latencies(fleet: Fleet, requests: readonly CountedRequest[]): Pick<Round, "toWrite" | "toStatus"> {
  const byUID = new Map([...fleet.moments.values()].map((moments) => [moments.uid, moments]));
  const toWrite: number[] = [];
  const toStatus: number[] = [];
  for (const { method, body, arrivedAt, answeredAt, status = 500 } of requests) {
    const uid = method === "POST" ? /"k8s-([0-9a-f-]{36})"/.exec(body)?.[1] : undefined;
    const moments = byUID.get(uid ?? "");
    if (moments === undefined || status >= 300) continue;
    toWrite.push(arrivedAt - moments.addedAt);
    if (moments.linkedAt !== undefined && answeredAt !== undefined) toStatus.push(moments.linkedAt - answeredAt);
  }
  return { toWrite: percentiles(toWrite), toStatus: percentiles(toStatus) };
}

function percentiles(ms: readonly number[]): Percentiles {
  return { p50: quantile(ms, 0.5) / 1000, p99: quantile(ms, 0.99) / 1000 };
}
