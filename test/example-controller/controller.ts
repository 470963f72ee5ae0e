import { ClusterClient } from "../../src/operator/kube/client.ts";
import { ClusterError, isAlreadyExists } from "../../src/operator/kube/errors.ts";
import { guardedPatch } from "../../src/operator/kube/json-patch.ts";
import { requireLeader } from "../../src/operator/kube/leadership.ts";
import { LeaderElection } from "../../src/operator/kube/lease.ts";
import { listAll } from "../../src/operator/kube/list-all.ts";
import { isObjectOf } from "../../src/operator/kube/objects.ts";
import { Reflector } from "../../src/operator/kube/reflector.ts";
import type { KubeObject, ResourceKind } from "../../src/operator/objects/object.ts";
import { sameJSON } from "../../src/operator/objects/record.ts";
import { type Reconciled, WorkQueue } from "../../src/operator/runtime/workqueue.ts";
import {
  type ConfigMap,
  configMapKind,
  finalizer,
  isCopyOf,
  type Mirror,
  type MirrorPorts,
  type MirrorStatus,
  mirrorKind,
  ownerLabel,
} from "./mirror.ts";

// An example of an operator: a Mirror keeps copies of a ConfigMap in other namespaces.
//
// Expected flow: finalizer, copies, status; when deleted: copies away, finalizer away. Guarantees: a ConfigMap without
// this Mirror's label is never touched, and no copy outlives its Mirror, whatever crashes or gets no reply in between.
// Assumption: a request takes effect within `settleMs` of its sending. The only memory, `#quietFrom`, may be lost.

/** Stands for election, and keeps all Mirrors while this process leads. */
export function runMirrors(ports: MirrorPorts, signal: AbortSignal): Promise<void> {
  const { transport, clock } = ports;
  const client = new ClusterClient(transport, { clock, timeoutMs: 4000, signal });
  const election = new LeaderElection({ ...ports, client, namespace: "default", name: "mirrors" });
  const onStarted = (leading: AbortSignal) => new Mirrors(ports, requireLeader(election), leading).run();
  return election.run({ signal, onStarted });
}

class Mirrors {
  readonly #ports: MirrorPorts;
  readonly #signal: AbortSignal;
  readonly #client: ClusterClient;
  readonly #mirrors: Reflector<Mirror>;
  readonly #maps: Reflector<ConfigMap>;
  readonly #queue: WorkQueue;
  /** From then on no create can arrive that this term, or the one before, has no answer to. */
  #quietFrom: number;

  constructor(ports: MirrorPorts, beforeSend: () => void, signal: AbortSignal) {
    const { clock, transport, settleMs } = ports;
    this.#ports = ports;
    this.#signal = signal;
    this.#quietFrom = clock.monotonic() + settleMs;
    this.#queue = new WorkQueue({ ...ports, backoff: { baseMs: 100, factor: 2, maxMs: 5000, jitter: 0.3 } });
    const onAnswer = (kind: ResourceKind, object: KubeObject, { created }: { created: boolean }) =>
      (kind.plural === "mirrors" ? this.#mirrors : this.#maps).answered(object, created);
    const client = new ClusterClient(transport, { clock, timeoutMs: 4000, signal, beforeSend, onAnswer });
    this.#client = client;
    const wake = (object: Mirror) => this.#queue.add(object.metadata.uid);
    this.#mirrors = new Reflector({ ...ports, client, kind: mirrorKind, onChange: ({ object }) => wake(object) });
    this.#maps = new Reflector({
      ...ports,
      client,
      kind: configMapKind,
      onChange: ({ object: { metadata } }) => {
        const concerns = (mirror: Mirror) => mirror.spec.source === metadata.name || isCopyOf(mirror, metadata.labels);
        this.#mirrors.store.list().filter(concerns).forEach(wake);
      },
    });
  }

  async run(): Promise<void> {
    const signal = this.#signal;
    const reflecting = [this.#mirrors.run(signal), this.#maps.run(signal)];
    await Promise.all([this.#mirrors.whenSynced(signal), this.#maps.whenSynced(signal)]).catch(() => {});
    await Promise.all([...reflecting, this.#queue.run({ workers: 2, signal, handle: (uid) => this.#handle(uid) })]);
  }

  async #handle(uid: string): Promise<void> {
    try {
      const mirror = this.#mirrors.store.byUid(uid);
      const { requeueAfterMs }: Reconciled = mirror === undefined ? {} : await this.#reconcile(mirror);
      this.#queue.forget(uid);
      if (requeueAfterMs !== undefined) this.#queue.addAfter(uid, requeueAfterMs);
    } catch (error) {
      this.#ports.log.warn({ uid, error }, "The reconcile failed: retrying");
      this.#queue.retry(uid);
    }
  }

  async #reconcile(mirror: Mirror): Promise<Reconciled> {
    const { namespace = "", deletionTimestamp, generation, finalizers = [] } = mirror.metadata;
    if (deletionTimestamp !== undefined) return finalizers.includes(finalizer) ? this.#remove(mirror) : {};
    if (!finalizers.includes(finalizer)) {
      await this.#client.patch(mirrorKind, mirror.metadata, guardedPatch(mirror).addFinalizer(finalizer).ops());
      return {};
    }
    const { source: name, targets } = mirror.spec;
    const source = this.#maps.store.get(namespace, name);
    const wanted = source === undefined ? [] : targets.filter((target) => target !== namespace);
    const copies = this.#maps.store.list().filter(({ metadata }) => isCopyOf(mirror, metadata.labels));
    for (const copy of copies) {
      if (copy.metadata.name !== name || !wanted.includes(copy.metadata.namespace ?? "")) await this.#delete(copy);
      else if (!sameJSON(copy.data, source?.data)) {
        const patch = guardedPatch(copy, { resourceVersion: true }).set(["data"], source?.data ?? {});
        await this.#client.patch(configMapKind, copy.metadata, patch.ops());
      }
    }
    const refused: string[] = [];
    for (const target of wanted) {
      const found = this.#maps.store.get(target, name);
      if (found === undefined && !(await this.#create(mirror, target, source?.data))) refused.push(target);
      else if (found !== undefined && !isCopyOf(mirror, found.metadata.labels)) refused.push(target);
    }
    const status: MirrorStatus = { observedGeneration: generation, copies: wanted.length - refused.length, refused };
    if (sameJSON(mirror.status, status)) return {};
    const ops = guardedPatch(mirror, { resourceVersion: true }).setStatus(status).ops();
    await this.#client.patch(mirrorKind, mirror.metadata, ops, { subresource: "status" });
    return {};
  }

  /** False if the name is taken: the watch brings what has it. */
  async #create(mirror: Mirror, namespace: string, data: Record<string, string> = {}): Promise<boolean> {
    const metadata = { name: mirror.spec.source, namespace, labels: { [ownerLabel]: mirror.metadata.uid } };
    try {
      await this.#client.create(configMapKind, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      const { clock, settleMs } = this.#ports;
      if (!(error instanceof ClusterError)) this.#quietFrom = clock.monotonic() + settleMs;
      throw error;
    }
  }

  /** A fresh list and not the store proves that nothing is left, once nothing can arrive any more. */
  async #remove(mirror: Mirror): Promise<Reconciled> {
    const { clock } = this.#ports;
    const waitMs = this.#quietFrom - clock.monotonic();
    const selection = { labelSelector: `${ownerLabel}=${mirror.metadata.uid}`, limit: 100 };
    const read = (item: unknown) => (isObjectOf(configMapKind, item) ? [item] : []);
    const copies = (await listAll(this.#client, configMapKind, selection, read)).items.flat();
    for (const copy of copies) await this.#delete(copy);
    if (copies.length > 0 || waitMs > 0) return { requeueAfterMs: Math.max(waitMs, 10) };
    await this.#client.patch(mirrorKind, mirror.metadata, guardedPatch(mirror).removeFinalizer(finalizer).ops());
    return {};
  }

  async #delete({ metadata }: ConfigMap): Promise<void> {
    await this.#client.delete(configMapKind, metadata, { uid: metadata.uid });
  }
}
