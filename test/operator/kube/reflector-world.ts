import { Reflector, type ReflectorOptions } from "../../../src/operator/kube/reflector.ts";
import type { Change } from "../../../src/operator/kube/store.ts";
import type { WatchLine } from "../../../src/operator/kube/transport.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { type ConfigMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

export const minute = 60_000;

export function setUp(options: Partial<ReflectorOptions<ConfigMap>> = {}) {
  const cluster = new MemoryCluster();
  const changes: string[] = [];
  const relists: string[] = [];
  const reflector = new Reflector<ConfigMap>({
    client: cluster.client(),
    kind: configMaps,
    clock: cluster.clock,
    random: () => 0.5,
    log: silentLogger,
    onChange: (change) => changes.push(reported(change)),
    onRelist: (cause) => relists.push(cause),
    ...options,
  });
  const stop = new AbortController();
  const run = () => reflector.run(stop.signal);
  /** Starts it and forgets the changes of the first list. */
  const started = async () => {
    void run();
    await cluster.clock.advance(100);
    changes.length = 0;
    return reflector;
  };
  const names = () => reflector.store.list().map((object) => object.metadata.name);
  return {
    cluster,
    clock: cluster.clock,
    outside: cluster.outside,
    reflector,
    changes,
    relists,
    stop,
    run,
    started,
    names,
  };
}

export const forever = new AbortController().signal;
export const noLines: AsyncIterable<WatchLine> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

export function failing(error: Error): AsyncIterable<WatchLine> {
  const next = async () => {
    throw error;
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

export function reported({ type, object }: Change<ConfigMap>): string {
  return `${type} ${object.metadata.name}`;
}
