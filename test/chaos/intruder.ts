import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../simulation/api-server/objects.ts";
import type { Dice } from "../simulation/dice.ts";
import { linkedID, specOf } from "../simulation/world/computes.ts";
import type { ServiceProcess } from "../support/processes.ts";
import type { WorkloadHistory } from "./workload-history.ts";

export interface IntruderOptions {
  service: ServiceProcess;
  key: string;
  workloadHistory: WorkloadHistory;
  dice: Dice;
}

/** More changes of one Compute's endpoint would be taken for a tug-of-war, which only a person can end. */
const mostDrifts = 3;
/** How often a request is tried that the service, being in the same storm, does not answer well. */
const tries = 5;

/** Somebody who changes and deletes at the service what Computes declare. */
export class Intruder {
  readonly #options: IntruderOptions;
  readonly #drifts = new Map<string, number>();

  constructor(options: IntruderOptions) {
    this.#options = options;
  }

  /** Gives an endpoint another size. */
  async drift(compute: KubeObject): Promise<void> {
    const { uid, name } = compute.metadata;
    const drifts = (this.#drifts.get(uid) ?? 0) + 1;
    if (drifts > mostDrifts) return;
    this.#drifts.set(uid, drifts);
    this.#options.workloadHistory.note("drift", name);
    const endpoint = { autoscaling_limit_min_cu: 3, autoscaling_limit_max_cu: 3 };
    await this.#send("PATCH", compute, { endpoint });
  }

  /** Deletes an endpoint. */
  async strike(compute: KubeObject): Promise<void> {
    const { uid, name } = compute.metadata;
    this.#options.workloadHistory.strikes.push({ at: Date.now(), uid, name, endpoint: linkedID(compute) ?? "" });
    this.#options.workloadHistory.note("strike", name);
    await this.#send("DELETE", compute);
  }

  async #send(method: string, compute: KubeObject, body?: object): Promise<void> {
    const { service, key, dice } = this.#options;
    const path = `/projects/${String(specOf(compute)["projectID"])}/endpoints/${linkedID(compute)}`;
    for (let attempt = 0; attempt < tries; attempt++) {
      const answer = await service.send(method, path, body, key).catch(() => undefined);
      await answer?.text().catch(() => "");
      if (answer?.ok === true || answer?.status === 404) return;
      await sleep(dice.between(100, 500));
    }
  }
}
