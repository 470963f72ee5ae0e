import type { Endpoint } from "../../api/endpoint.ts";
import { sameJSON } from "../objects/record.ts";
import type { Compute } from "../resources/compute.ts";
import { ranked } from "./claims.ts";
import type { EndpointIndex } from "./ownership.ts";

/** So few contenders are ranked each time: to remember their order would cost more. */
const few = 8;

interface Ranked {
  endpoints: EndpointIndex;
  uids: readonly string[];
}

/**
 * The order of the Computes that contend for an endpoint. If many do, they are ranked once for each list, until one of
 * their project changes in a way that may affect the order: with a rank for each reconcile of each of them, the time
 * would grow with the square of their number. 1,000 that name one endpoint: 12 ms instead of 4.7 s.
 */
export class Contenders {
  readonly #byProject = new Map<string, Map<string, Ranked>>();

  /** The uids in order; `project` names the project and its service. */
  of(project: string, endpoint: Endpoint, endpoints: EndpointIndex, all: () => readonly Compute[]): readonly string[] {
    const known = this.#byProject.get(project)?.get(endpoint.id);
    if (known?.endpoints === endpoints) return known.uids;
    const computes = all();
    const uids = uidsOf(ranked(computes, endpoint, endpoints));
    if (computes.length <= few) return uids;
    const ofProject = this.#byProject.get(project) ?? new Map<string, Ranked>();
    this.#byProject.set(project, ofProject.set(endpoint.id, { endpoints, uids }));
    return uids;
  }

  /** A Compute of this project came, went or changed its rank. */
  forget(project: string): void {
    this.#byProject.delete(project);
  }
}

/** True if two versions of a Compute have the same rank for every endpoint. */
export function haveSameRank(before: Compute, after: Compute): boolean {
  return before === after || sameJSON(rankedBy(before), rankedBy(after));
}

/** All that may affect the rank of a Compute. */
function rankedBy({ metadata, spec, status }: Compute): unknown {
  const { conditions: _, observedGeneration: __, operations: ___, lastActive: ____, ...rest } = status;
  return [metadata.annotations, spec, rest];
}

function uidsOf(computes: readonly Compute[]): string[] {
  return computes.map(({ metadata }) => metadata.uid);
}
