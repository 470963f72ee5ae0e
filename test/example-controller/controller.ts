import { ClusterClient } from "../../src/operator/kube/client.ts";
import { EventRecorder } from "../../src/operator/kube/events.ts";
import { requireLeader } from "../../src/operator/kube/leadership.ts";
import { LeaderElection } from "../../src/operator/kube/lease.ts";
import { Reflector } from "../../src/operator/kube/reflector.ts";
import type { ClusterTransport } from "../../src/operator/kube/transport.ts";
import { dueAfter, fallenDue, nothingDue } from "../../src/operator/life/due.ts";
import { step } from "../../src/operator/life/kind.ts";
import { Reconciler } from "../../src/operator/life/reconciler.ts";
import { isBeingDeleted, isHeldBy, type KubeObject, type ResourceKind } from "../../src/operator/objects/object.ts";
import type { RuntimePorts } from "../../src/operator/runtime/log.ts";
import { WorkQueue } from "../../src/operator/runtime/workqueue.ts";
import { isCopyOf, type Memory, mirrorKindOf, noteRecord } from "./kind.ts";
import { type ConfigMap, configMapKind, type Mirror, mirrorPatches, reasons } from "./mirror.ts";

/** The ports of the controller. A request takes effect within `settleMs` of its end. */
export interface MirrorPorts extends RuntimePorts {
  transport: ClusterTransport;
  identity: string;
  settleMs: number;
}

/** Stands for election, and keeps all Mirrors while this process leads. */
export function runMirrors(ports: MirrorPorts, signal: AbortSignal): Promise<void> {
  const client = new ClusterClient(ports.transport, { clock: ports.clock, timeoutMs: 4000, signal });
  const election = new LeaderElection({ ...ports, client, namespace: "default", name: "mirrors" });
  return election.run({ signal, onStarted: (leading) => lead(ports, requireLeader(election), leading) });
}

/** Informers, queue and reconciles of one term. */
async function lead(ports: MirrorPorts, beforeSend: () => void, signal: AbortSignal): Promise<void> {
  const { clock, log } = ports;
  const onAnswer = (kind: ResourceKind, object: KubeObject, { created }: { created: boolean }) => {
    if (kind.kind === "Mirror") mirrors.answered(object, created);
    if (kind.kind === "ConfigMap") maps.answered(object, created);
  };
  const cluster = new ClusterClient(ports.transport, { clock, timeoutMs: 4000, signal, beforeSend, onAnswer });
  const queue = new WorkQueue({ ...ports, backoff: { baseMs: 100, factor: 2, maxMs: 5000, jitter: 0.3 } });
  const wake = ({ metadata: { uid } }: Mirror) => queue.add(uid);
  const parse = (raw: unknown) => {
    const read = mirrorPatches.parse(raw);
    return read.ok ? read.value : undefined;
  };
  const { kind: mirrorKind } = mirrorPatches;
  const mirrors = new Reflector({
    ...ports,
    client: cluster,
    kind: mirrorKind,
    parse,
    onChange: ({ object }) => wake(object),
  });
  const concerns = (map: ConfigMap) => (mirror: Mirror) =>
    mirror.spec.source === map.metadata.name || isCopyOf(mirror, map);
  const onChange = ({ object }: { object: ConfigMap }) => mirrors.store.list().filter(concerns(object)).forEach(wake);
  const maps = new Reflector({ ...ports, client: cluster, kind: configMapKind, onChange });
  const events = new EventRecorder({ ...ports, client: cluster, component: "mirrors" });
  const kind = mirrorKindOf({
    ...ports,
    cluster,
    maps: maps.store,
    event: (mirror, note) => events.record(mirror, note),
    onStop: ({ rule }, { metadata: { name } }) => log.error({ rule, name }, "The last guard stopped a write"),
  });
  const memories = new Reconciler<Mirror, Memory>({
    cluster,
    clock,
    kindOf: () => mirrorKind,
    newest: (uid) => mirrors.store.byUid(uid),
    selects: (mirror) => !isBeingDeleted(mirror) || isHeldBy(mirror, mirrorPatches.finalizer),
    remember: () => ({ requeue: nothingDue, write: undefined }),
    onVersion: noteRecord,
  });
  const turn = async (object: Mirror, memory: Memory, now: number) => {
    if (fallenDue(memory.requeue, now) !== undefined) memory.requeue = { ...memory.requeue, dueAt: undefined };
    const { done } = await step(kind, { object, memory, given: undefined, access: undefined });
    return { requeueAfterMs: dueAfter(done, reasons, memory, clock.monotonic(), Number.POSITIVE_INFINITY) };
  };
  const handle = async (uid: string) => {
    try {
      const { requeueAfterMs } = await memories.reconcile(uid, turn);
      queue.forget(uid);
      if (requeueAfterMs !== undefined) queue.addAfter(uid, requeueAfterMs);
    } catch (error) {
      log.warn({ uid, error }, "The reconcile failed: retrying");
      queue.retry(uid);
    }
  };
  const reflecting = [mirrors.run(signal), maps.run(signal)];
  await Promise.all([mirrors.whenSynced(signal), maps.whenSynced(signal)]).catch(() => {});
  await Promise.all([...reflecting, queue.run({ workers: 2, signal, handle })]);
}
