import { sameJSON } from "../../../src/operator/objects/record.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { conditionOf, isDeleting, specOf, statusOf } from "./computes.ts";
import { operatorNamespace } from "./operator.ts";
import { agrees } from "./other-namespaces.ts";
import type { Register } from "./register.ts";

/** How old a view may be on which an operator acts in good faith: a slow watch, a pause, a request on its way. */
const goodFaithMs = 120_000;
const type = "servicebinding.io/postgresql";

interface Place {
  namespace: string;
  name: string;
}

/** `until` is infinite as long as it lasts. */
interface Span {
  since: number;
  until: number;
}

/**
 * Connection Secrets in other namespaces: written only where the namespace agrees, for a Compute that names the place,
 * and never over somebody's own; in the end each is where its Compute has it, and none is left over.
 */
export class SecretGuard {
  readonly #clock: Clock;
  readonly #register: Register;
  readonly #report: (promise: string, message: string) => void;
  /** Since when and until when each namespace last agreed. */
  readonly #agreed = new Map<string, Span>();
  /** Since when and until when each Compute named each place: by uid and place. */
  readonly #named = new Map<string, Span>();
  /** When each Secret was made, by uid. */
  readonly #madeAt = new Map<string, number>();

  constructor(clock: Clock, register: Register, report: (promise: string, message: string) => void) {
    this.#clock = clock;
    this.#register = register;
    this.#report = report;
  }

  namespaceChanged(after: KubeObject | undefined, { metadata: { name } }: KubeObject): void {
    const now = this.#now();
    const before = this.#agreed.get(name) ?? { since: now, until: Number.NEGATIVE_INFINITY };
    this.#agreed.set(name, followed(before, after !== undefined && agrees(after.metadata), now));
  }

  computeChanged(before: KubeObject | undefined, after: KubeObject | undefined): void {
    for (const [compute, stands] of [
      [before, false],
      [after, true],
    ] as const) {
      const place = compute && placeOf(compute);
      if (compute === undefined || place === undefined) continue;
      const key = keyOf(compute, place);
      const named = this.#named.get(key) ?? { since: this.#now(), until: Number.NEGATIVE_INFINITY };
      const isNamed = stands ? !isDeleting(compute) : after !== undefined && sameJSON(place, placeOf(after));
      this.#named.set(key, followed(named, isNamed, this.#now()));
    }
  }

  changed(before: KubeObject | undefined, after: KubeObject | undefined, process: string | undefined): void {
    const secret = after ?? before;
    if (secret === undefined) return;
    const { namespace = "", name, uid } = secret.metadata;
    if (before === undefined) this.#madeAt.set(uid, this.#now());
    if (process === undefined || !isOthers(namespace)) return;
    const place = `${namespace}/${name}`;
    if (!this.#isLately(this.#agreed.get(namespace) ?? never))
      this.#report("where a namespace agrees", `${process} wrote Secret ${place}, whose namespace does not agree`);
    if (before !== undefined && !this.#mayChange(before, after))
      this.#report("nobody's own Secret", `${process} changed or removed Secret ${place}, which is not its Compute's`);
    if (after !== undefined && !this.#isLately(this.#spanOf(after) ?? never))
      this.#report("as declared", `${process} wrote Secret ${place}, which its Compute does not name`);
    if (after === undefined && before !== undefined && this.#isWanted(before))
      this.#report("as declared", `${process} removed Secret ${place}, which its Compute names`);
  }

  /** What is not as it should be once all is at rest: `secrets` are all that there are. */
  complaints(computes: readonly KubeObject[], secrets: readonly KubeObject[]): string[] {
    const left = secrets.flatMap((secret) => {
      const { namespace = "", name } = secret.metadata;
      const owner = computes.find(({ metadata }) => metadata.uid === markIn(secret)?.uid);
      if (!isOthers(namespace) || markIn(secret) === undefined) return [];
      // One that is lost keeps what it had: the former Secret goes once another stands.
      if (owner !== undefined && (!isReady(owner) || isAt(placeOf(owner), secret))) return [];
      return this.#mayStay(secret) ? [] : [`Secret ${namespace}/${name} is left over`];
    });
    const naming = computes.filter((compute) => isReady(compute) && placeOf(compute) !== undefined);
    const missing = naming.filter((compute) => !hasSecret(compute, secrets));
    return [...left, ...missing.map(({ metadata }) => `${metadata.name} is ready without its connection Secret`)];
  }

  /** True if a person took the Compute's finalizer away, its definition went, or the namespace withdrew meanwhile. */
  #mayStay(secret: KubeObject): boolean {
    const { uid = "" } = markIn(secret) ?? {};
    const { namespace = "" } = secret.metadata;
    const { since = Number.POSITIVE_INFINITY } = this.#agreed.get(namespace) ?? {};
    const isWithdrawn = since > (this.#madeAt.get(secret.metadata.uid) ?? 0);
    return isWithdrawn || this.#register.letGoByPerson.has(uid) || this.#register.uninstalled.has(uid);
  }

  /** Its own mark, or that of a Compute of the same name that is gone. */
  #mayChange(before: KubeObject, after: KubeObject | undefined): boolean {
    const [mark, next] = [markIn(before), after && markIn(after)];
    if (mark === undefined) return false;
    if (next === undefined || next.uid === mark.uid) return true;
    return next.of === mark.of && !this.#register.isLiving(mark.uid);
  }

  /** Since when and until when the Compute whose mark a Secret bears named the Secret's place. */
  #spanOf(secret: KubeObject): Span | undefined {
    const { namespace = "", name } = secret.metadata;
    return this.#named.get(`${markIn(secret)?.uid ?? ""} ${namespace}/${name}`);
  }

  #isWanted(secret: KubeObject): boolean {
    const { since = 0, until = 0 } = this.#spanOf(secret) ?? {};
    return until === Number.POSITIVE_INFINITY && since + goodFaithMs < this.#now();
  }

  #isLately({ until }: Span): boolean {
    return until + goodFaithMs > this.#now();
  }

  #now(): number {
    return this.#clock.monotonic();
  }
}

function isOthers(namespace: string): boolean {
  return namespace !== "shop" && namespace !== operatorNamespace;
}

/** The mark of a connection Secret: the namespace and name of its Compute, and the uid, which its label repeats. */
function markIn({ metadata, ...secret }: KubeObject): { of: string; uid: string } | undefined {
  const [namespace, name, uid, ...more] = (metadata.annotations?.["compute-operator.dev/secret-of"] ?? "").split("/");
  const label = metadata.labels?.["compute-operator.dev/compute"];
  if (secret["type"] !== type || uid === undefined || label !== uid || more.length > 0) return undefined;
  return { of: `${namespace}/${name}`, uid };
}

/** The place that a Compute's spec names. */
function placeOf(compute: KubeObject): Place | undefined {
  const { connectionSecret: wanted } = specOf(compute);
  if (!isJsonObject(wanted)) return undefined;
  const { namespace = compute.metadata.namespace, name } = wanted;
  return { namespace: String(namespace), name: String(name) };
}

function keyOf({ metadata: { uid } }: KubeObject, { namespace, name }: Place): string {
  return `${uid} ${namespace}/${name}`;
}

function isAt(place: Place | undefined, { metadata }: KubeObject): boolean {
  return place !== undefined && place.namespace === metadata.namespace && place.name === metadata.name;
}

function isReady(compute: KubeObject): boolean {
  return conditionOf(compute, "Ready")?.status === "True";
}

/** True if a Secret stands where the spec names it, is the Compute's, and leads to its endpoint. */
function hasSecret(compute: KubeObject, secrets: readonly KubeObject[]): boolean {
  const secret = secrets.find((one) => isAt(placeOf(compute), one));
  if (secret === undefined) return false;
  const { uid, namespace, name } = compute.metadata;
  const isOwned = secret.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  const mark = markIn(secret);
  const isOurs = secret.metadata.namespace === namespace ? isOwned : mark?.uid === uid;
  const data = isJsonObject(secret["data"]) ? secret["data"] : {};
  const id = Buffer.from(String(data["endpoint-id"]), "base64").toString();
  return isOurs && (mark === undefined || mark.of === `${namespace}/${name}`) && id === statusOf(compute)["endpointID"];
}

const never: Span = { since: 0, until: Number.NEGATIVE_INFINITY };

/** A span that goes on, has ended now, or begins anew now. */
function followed(before: Span, isSo: boolean, now: number): Span {
  const wasSo = before.until === Number.POSITIVE_INFINITY;
  if (isSo === wasSo) return before;
  return isSo ? { since: now, until: Number.POSITIVE_INFINITY } : { ...before, until: now };
}
