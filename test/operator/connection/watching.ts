import type { Endpoint } from "../../../src/api/endpoint.ts";
import { EndpointLister } from "../../../src/operator/project/endpoint-lister.ts";
import { clientOf, json, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** The first poll of an operation of unknown duration, which is expected to take a second. */
export const firstPollMs = 1020;

export const refreshMs = 30_000;

/** A project that is listed, and who is enqueued. */
export function watching(endpoints: Endpoint[] = [], everyMs = refreshMs) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const service = new ScriptedService(() => json(200, { endpoints }));
  const woken: string[] = [];
  const lister = new EndpointLister({
    log: silentLogger,
    client: clientOf(service, clock),
    projectID: "shop",
    clock,
    refreshIntervalMs: () => everyMs,
    enqueue: (uids) => woken.push(...uids),
    signal: stop.signal,
  });
  const lists = () => service.count("/endpoints");
  const news = () => woken.splice(0).toSorted();
  return { clock, stop, service, lister, lists, news };
}
