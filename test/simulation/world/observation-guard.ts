import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { specOf, statusOf } from "./computes.ts";
import type { ClusterWrite } from "./records.ts";

/** How long a status may be on its way: one request to the service, and one to the API server. */
const onItsWayMs = 60_000;
/** What a second 401, so much later, says too is no accident. */
const apartMs = 5000;

/** Reasons that tell of a service which gives no list. */
const givesNoList = new Set(["ServiceUnavailable", "RateLimited"]);

/**
 * A blip changes nothing: no Compute says that it is not seen as long as a list counts, nor that a key is refused
 * before two 401s five seconds apart. And none says that it is as declared by a list that does not count any more.
 */
export class ObservationGuard {
  readonly #report: (promise: string, message: string) => void;
  /** Where the service does not show all fields, what was sent of those and refused is neither seen nor not seen. */
  readonly #allShown: boolean;
  /** Three refresh intervals: so long a list counts. */
  readonly #countsForMs: number;
  /** When lists of a project reached a process, lately. */
  readonly #lists = new Map<string, number[]>();
  /** When a process was first and last answered 401. */
  readonly #refusedAt = new Map<string, { first: number; last: number }>();

  constructor(
    { allShown, refreshMs }: { allShown: boolean; refreshMs: number },
    report: (promise: string, message: string) => void,
  ) {
    this.#allShown = allShown;
    this.#countsForMs = 3 * refreshMs;
    this.#report = report;
  }

  /** A complete list reached a process. */
  listed(process: string, project: string, at: number): void {
    const key = `${process} ${project}`;
    const lately = (this.#lists.get(key) ?? []).filter((one) => at - one < this.#countsForMs + onItsWayMs);
    this.#lists.set(key, [...lately, at]);
  }

  /** A process was answered 401. */
  refused(process: string, at: number): void {
    this.#refusedAt.set(process, { first: this.#refusedAt.get(process)?.first ?? at, last: at });
  }

  clusterWritten({ process, at, resource, before, after }: ClusterWrite): void {
    if (resource !== "computes" || before === undefined || after === undefined) return;
    const [was, is] = [synced(before), synced(after)];
    if (is === undefined || JSON.stringify(was) === JSON.stringify(is)) return;
    const lists = this.#lists.get(`${process} ${String(specOf(after)["projectID"])}`) ?? [];
    const said = `${after.metadata.name} says ${is.status} (${is.reason}) by ${process}`;
    if (is.status === "True" && !lists.some((one) => at - one < this.#countsForMs + onItsWayMs))
      this.#report("seen or unknown", `${said}, which had no list lately`);
    // What never spoke of this spec has nothing to keep.
    if (is.status !== "Unknown" || was?.status === "Unknown" || was?.generation !== after.metadata.generation) return;
    const counts = lists.some((one) => at - one < this.#countsForMs && at - one > onItsWayMs);
    if (counts && this.#allShown && givesNoList.has(is.reason))
      this.#report("a blip changes nothing", `${said}, which had a list that still counts`);
    const refused = this.#refusedAt.get(process);
    if (is.reason === "Unauthorized" && (refused === undefined || refused.last - refused.first < apartMs))
      this.#report("a blip changes nothing", `${said}, and its key was not refused twice`);
  }
}

function synced(compute: KubeObject): { status: string; reason: string; generation: unknown } | undefined {
  const { conditions } = statusOf(compute);
  if (!Array.isArray(conditions)) return undefined;
  const found: unknown = conditions.find((one) => isJsonObject(one) && one["type"] === "Synced");
  if (!isJsonObject(found)) return undefined;
  const { status, reason, observedGeneration: generation } = found;
  return { status: String(status), reason: String(reason), generation };
}
