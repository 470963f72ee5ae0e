import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { linkedID, specOf, statusOf, uidInSignature } from "./computes.ts";
import { markOf, type ServiceWrite } from "./records.ts";
import { goodFaithMs } from "./register.ts";
import type { ServiceHost } from "./service-host.ts";
import type { Services } from "./services.ts";

/** What an operator may still act on: lists, retries and pauses lie in between. */
const staleMs = 180_000;

/**
 * A Compute as its `branchName` or `branchRef` reads now: with the id of the one branch that has the name, where there
 * is one, or of the branch of the Branch.
 */
export function onNamedBranch(compute: KubeObject, host: ServiceHost, branches: readonly KubeObject[]): KubeObject {
  const spec = specOf(compute);
  const { branchName, branchRef } = spec;
  if (isJsonObject(branchRef)) {
    const object = branches.find(({ metadata }) => metadata.name === branchRef["name"]);
    const id = object && statusOf(object)["branchID"];
    return id === undefined ? compute : { ...compute, spec: { ...spec, branchID: id } };
  }
  if (typeof branchName !== "string") return compute;
  const [branchID, ...others] = host.branchesNamed(String(spec["projectID"]), branchName);
  return branchID === undefined || others.length > 0 ? compute : { ...compute, spec: { ...spec, branchID } };
}

/** Whether no one branch has the name that a Compute gives, as `onNamedBranch` has found out. */
export function isNameless(compute: KubeObject): boolean {
  const { branchName, branchID } = specOf(compute);
  return branchName !== undefined && branchID === undefined;
}

/**
 * A write for a Compute with `branchName` goes to a branch that has the name, or had it a moment ago; and with
 * driftPolicy Report the endpoint moves only after an edit of what names its branch, until that edit is carried out.
 */
export class BranchGuard {
  readonly #options: { clock: Clock; services: Services };
  readonly #report: (promise: string, message: string) => void;
  /** By uid: when the branch or the policy was last edited. */
  readonly #editedAt = new Map<string, number>();
  /** By uid: when the service was last reported to have been brought to which generation, by which endpoint. */
  readonly #applied = new Map<string, Applied>();

  constructor(options: { clock: Clock; services: Services }, report: (promise: string, message: string) => void) {
    this.#options = options;
    this.#report = report;
  }

  computeChanged(before: KubeObject | undefined, after: KubeObject | undefined): void {
    if (after === undefined) return;
    const { uid } = after.metadata;
    const now = this.#options.clock.monotonic();
    if (before === undefined || wishOf(before) !== wishOf(after)) this.#editedAt.set(uid, now);
    const [earlier, status] = [before === undefined ? {} : statusOf(before), statusOf(after)];
    const { appliedGeneration: applied, endpointID } = status;
    if (applied === undefined && earlier["appliedGeneration"] !== undefined)
      this.#applied.set(uid, { ...this.#appliedOf(uid), wiped: true });
    const isNew = applied !== earlier["appliedGeneration"] || endpointID !== earlier["endpointID"];
    if (isNew && applied === after.metadata.generation)
      this.#applied.set(uid, { at: now, generation: applied, endpointID, wiped: false });
  }

  sent(write: ServiceWrite): void {
    const { kind, endpointID, computes } = write;
    const uid = uidInSignature(markOf(write));
    const senders = computes.filter((one) =>
      kind === "create" ? one.metadata.uid === uid : linkedID(one) === endpointID,
    );
    // Of several that are linked to one endpoint, as copies are, any may have sent it.
    const wrong = senders.map((sender) => this.#wrongFor(sender, write));
    if (wrong[0] !== undefined && !wrong.includes(undefined)) this.#report("branch names", wrong[0]);
  }

  /** What is wrong about a write if this Compute sent it; `undefined`: nothing. */
  #wrongFor(compute: KubeObject, write: ServiceWrite): string | undefined {
    const { kind, endpointID, target, service, project } = write;
    const branchID = placeIn(write.body);
    const { branchName, driftPolicy } = specOf(compute);
    if (branchID === undefined || typeof branchName !== "string") return undefined;
    const now = this.#options.clock.monotonic();
    const editedAt = this.#editedAt.get(compute.metadata.uid) ?? 0;
    if (now - editedAt < goodFaithMs) return undefined;
    const what = `${kind} of ${compute.metadata.name} puts it on ${branchID}`;
    if (!this.#options.services.at(service).boreName(project, branchID, branchName, now - staleMs))
      return `${what}, which is not called ${branchName}`;
    const applied = this.#appliedOf(compute.metadata.uid);
    // An edit of anything is to be carried out, and nothing shows any more what the name had come to before.
    const isForgotten = applied.wiped && applied.generation !== compute.metadata.generation;
    // Nor is it by another endpoint, as by a late create in the place of one that was lost.
    const isCarriedOut =
      editedAt < applied.at && !isForgotten && applied.endpointID === endpointID && !waitsToMove(compute);
    const isMove = kind === "patch" && driftPolicy === "Report" && target?.branchId !== branchID;
    return isMove && isCarriedOut ? `${what}, although its name alone has moved and driftPolicy is Report` : undefined;
  }

  #appliedOf(uid: string): Applied {
    return this.#applied.get(uid) ?? { at: 0, generation: undefined, endpointID: undefined, wiped: false };
  }
}

interface Applied {
  at: number;
  generation: unknown;
  /** Of the status that said so. */
  endpointID: unknown;
  /** Whether a person wiped the status since. */
  wiped: boolean;
}

/** True if an edit's move waits for a window, or for siblings: its generation counts as applied meanwhile. */
function waitsToMove(compute: KubeObject): boolean {
  const { waiting } = statusOf(compute);
  return Array.isArray(waiting) && waiting.some((change) => isJsonObject(change) && change["field"] === "branchID");
}

function wishOf(compute: KubeObject): string {
  const { branchID, branchName, driftPolicy } = specOf(compute);
  return JSON.stringify([branchID, branchName, driftPolicy]);
}

/** The branch that a write puts its endpoint on. */
function placeIn(body: unknown): string | undefined {
  const endpoint = isJsonObject(body) ? body["endpoint"] : undefined;
  const id = isJsonObject(endpoint) ? endpoint["branch_id"] : undefined;
  return typeof id === "string" ? id : undefined;
}
