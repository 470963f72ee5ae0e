import { setTimeout as sleep } from "node:timers/promises";
import { startWithCrds } from "../../control-plane/crds.ts";
import { goodKey, seedOf } from "../../e2e/manifests.ts";
import { type CountedRequest, CountingProxy } from "../../support/counting-proxy.ts";
import { eventually } from "../../support/eventually.ts";
import { ServiceProcess } from "../../support/processes.ts";
import { quantile } from "../figures.ts";
import { apiRequests, type Counts, callsByRoute, since, sum } from "./counts.ts";
import { Fleet, type FleetSize } from "./fleet.ts";
import { cpuSeconds, forgetPeak, memoryOf } from "./process-figures.ts";
import type { Place, Running, Subject, SubjectName } from "./subject.ts";

/** One size of fleet at one kind of service. */
export interface Setting extends FleetSize {
  /** Whether an operation locks its project, as at the public service. */
  locks: boolean;
  /** `public`: the service's rate limits, and the request budget that fits them. */
  limits: "raised" | "public";
}

/** What one program needed for one fleet. Times in seconds; memory in MiB, of the larger process if there are two. */
export interface Round {
  setting: Setting;
  subject: SubjectName;
  /** How many were Ready when time was up, where not all were. */
  ready: number;
  /** From the end of kubectl until the last Compute was Ready. */
  readyAfter: number;
  kubectl: number;
  calls: Counts;
  apiRequests: Counts;
  /** Of all its processes. */
  cpu: number;
  /** `charged`: the most that the kernel charged to the process's cgroup, whose limit is the one of `deploy/`. */
  rss: { idle: number; peak: number; after: number; settled: number; charged: number };
  /** Median and 99th percentile: from ADDED to the arrival of the create, from its answer to the link in the status. */
  toWrite: Percentiles;
  toStatus: Percentiles;
  /** Of one minute in which nothing changes; extrapolated from what was measured. */
  settled: { calls: number; apiRequests: number; cpu: number };
  /** From the change of one Compute to its write. */
  change: number;
  /** From the end of the leader to the write of a change that was made then, by the process that stood by. */
  handOver: number;
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
  await using controlPlane = await startWithCrds();
  const args = [
    "--data",
    ":memory:",
    ...(setting.limits === "raised" ? ["--no-rate-limits"] : []),
    ...(setting.locks ? [] : ["--no-project-lock"]),
  ];
  await using service = await ServiceProcess.start({ seed: seedOf(Fleet.projectsFor(setting)), timeScale, args });
  await using proxy = await CountingProxy.start(service);
  const fleet = new Fleet(setting, controlPlane);
  await fleet.prepare(proxy.baseURL, setting.limits);
  const place = { kubeconfig: controlPlane.kubeconfig, baseURL: proxy.baseURL, key: goodKey };
  const first = await subject.start(place);
  try {
    const created = await measureCreation(fleet, first, proxy, timeoutMs, () => apiRequests(controlPlane), progress);
    const settled = await measureRest(first, proxy, () => apiRequests(controlPlane));
    const changed = await measureChange(fleet, proxy);
    const rss = { ...created.rss, settled: settled.rss, charged: first.chargedMiB() };
    const handOver = subject.elects ? await measureHandOver(fleet, first, subject, place, proxy) : Number.NaN;
    await stopped(first);
    const { cold, starting } = await measureColdStart(fleet, subject, place, proxy);
    const { calls, api, cpu, readyAfter, kubectl, creating } = created;
    progress(
      `change ${changed.toFixed(2)} s, hand-over ${handOver.toFixed(2)} s, cold start ${cold.seconds.toFixed(2)} s`,
    );
    return {
      setting,
      subject: subject.name,
      ready: fleet.ready,
      readyAfter,
      kubectl,
      calls,
      apiRequests: api,
      cpu,
      rss,
      ...created.latencies,
      settled: settled.minute,
      change: changed,
      handOver,
      longestTask: { creating, resting: settled.longestTask, starting },
      cold,
    };
  } finally {
    fleet.stop();
    await killed(first);
  }
}

async function measureCreation(
  fleet: Fleet,
  running: Running,
  proxy: CountingProxy,
  timeoutMs: number,
  apiRequestsNow: () => Promise<Counts>,
  progress: (line: string) => void,
) {
  await sleep(3000);
  const idle = rssOf(running);
  progress(`idle: ${idle.toFixed(0)} MB`);
  for (const { pid } of running.children) forgetPeak(pid);
  await running.longestTask();
  proxy.clear();
  const before = { cpu: cpuOf(running), api: await apiRequestsNow() };
  const { began, ended } = await fleet.create();
  progress(`kubectl has ended after ${((ended - began) / 1000).toFixed(1)} s`);
  const lastAt = await fleet.allReady(timeoutMs).catch(() => Number.NaN);
  const requests = [...proxy.requests];
  const api = since(before.api, await apiRequestsNow());
  await sleep(2000);
  const cpu = cpuOf(running) - before.cpu;
  const peak = peakOf(running);
  const readyAfter = (lastAt - ended) / 1000;
  progress(`all Ready ${readyAfter.toFixed(1)} s later; CPU ${cpu.toFixed(1)} s, peak ${peak.toFixed(0)} MB`);
  return {
    readyAfter,
    kubectl: (ended - began) / 1000,
    calls: callsByRoute(requests),
    api,
    cpu,
    creating: await running.longestTask(),
    rss: { idle, peak, after: rssOf(running) },
    latencies: latencies(fleet, requests),
  };
}

/** A time in which nothing changes, long enough for one refresh of each project. */
async function measureRest(running: Running, proxy: CountingProxy, apiRequestsNow: () => Promise<Counts>) {
  await sleep(settleMs);
  proxy.clear();
  await running.longestTask();
  const before = { cpu: cpuOf(running), api: await apiRequestsNow() };
  await sleep(settledMs);
  const perMinute = 60_000 / settledMs;
  const minute = {
    calls: proxy.requests.length * perMinute,
    apiRequests: sum(since(before.api, await apiRequestsNow())) * perMinute,
    cpu: (cpuOf(running) - before.cpu) * perMinute,
  };
  return { minute, longestTask: await running.longestTask(), rss: rssOf(running) };
}

async function measureChange(fleet: Fleet, proxy: CountingProxy): Promise<number> {
  proxy.clear();
  const changedAt = performance.now();
  await fleet.resize("compute-0", 4);
  const { arrivedAt } = await firstWrite(proxy);
  await sleep(2000);
  return (arrivedAt - changedAt) / 1000;
}

/** A second process stands by; then the first ends, and a change comes. */
async function measureHandOver(
  fleet: Fleet,
  leader: Running,
  subject: Subject,
  place: Place,
  proxy: CountingProxy,
): Promise<number> {
  const standby = await subject.start(place);
  try {
    await sleep(3000);
    proxy.clear();
    const endsAt = performance.now();
    const [, { arrivedAt }] = await Promise.all([
      stopped(leader),
      fleet.resize("compute-0", 2).then(() => firstWrite(proxy)),
    ]);
    await sleep(2000);
    return (arrivedAt - endsAt) / 1000;
  } finally {
    await stopped(standby);
  }
}

async function measureColdStart(fleet: Fleet, subject: Subject, place: Place, proxy: CountingProxy) {
  await fleet.resize("compute-0", 3);
  proxy.clear();
  const startedAt = performance.now();
  const running = await subject.start(place);
  try {
    const { arrivedAt } = await firstWrite(proxy);
    const calls = proxy.requests.filter((request) => request.arrivedAt <= arrivedAt).length;
    await sleep(3000);
    const cold = { seconds: (arrivedAt - startedAt) / 1000, calls, peak: peakOf(running) };
    return { cold, starting: await running.longestTask() };
  } finally {
    await killed(running);
  }
}

function rssOf({ children }: Running): number {
  return Math.max(...children.map(({ pid }) => memoryOf(pid).rssMB));
}

function peakOf({ children }: Running): number {
  return Math.max(...children.map(({ pid }) => memoryOf(pid).peakMB));
}

function cpuOf({ children }: Running): number {
  return children.reduce((total, { pid }) => total + cpuSeconds(pid), 0);
}

async function stopped({ children }: Running): Promise<void> {
  await Promise.all(children.filter(({ running }) => running).map((child) => child.stop()));
}

async function killed({ children }: Running): Promise<void> {
  await Promise.all(children.map((child) => child.kill()));
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
