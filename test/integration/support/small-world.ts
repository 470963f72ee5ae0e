import type { Endpoint } from "../../../src/api/endpoint.ts";
import type { OperatorSettings } from "../../../src/operator/operator.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import type { Logger } from "../../../src/operator/runtime/log.ts";
import type { Tracer } from "../../../src/operator/runtime/tracer.ts";
import type { ServiceOptions } from "../../../src/service/options.ts";
import { type ClusterWeather, calm } from "../../simulation/api-server/faults.ts";
import { seededRandom } from "../../simulation/random.ts";
import { group, InMemorySystem, untilSo } from "../../support/in-memory-system.ts";
import { isReady } from "../../support/is-ready.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import type { Raw } from "./cluster-admin.ts";
import { connectNamespace } from "./in-memory.ts";
import { manifest } from "./manifests.ts";
import type { SeededService } from "./seeded-service.ts";
import type { Spec } from "./specs.ts";

const api = `${group}/namespaces/default`;

/** The whole system in this process on a driven clock, with the Computes `db-0`, `db-1` and so on of one namespace. */
export class SmallWorld extends InMemorySystem {
  /**
   * `seed` is of all random numbers, `weather` lies between operator and API server, `settings` are the operator's, as
   * is the tracer, which is made with the clock of this world.
   */
  constructor(
    branches: readonly string[],
    seed: number,
    { plan, ...service }: Partial<ServiceOptions> & Pick<SeededService, "plan"> = {},
    weather: ClusterWeather = calm,
    settings: Partial<OperatorSettings> = {},
    tracerOn: (clock: VirtualClock) => Tracer | undefined = () => undefined,
    log: Logger = silentLogger,
  ) {
    const clock = new VirtualClock();
    super({
      clock,
      random: seededRandom(seed),
      definitions: ["computes", "serviceconnections", "computepools", "branches"],
      weather,
      settings,
      log,
      tracer: tracerOn(clock),
      service: { branches, service, ...(plan && { plan }) },
    });
    connectNamespace("default", (path, body) => this.send("POST", path, body));
    this.start();
  }

  /** Gives the Compute of this number a spec. */
  declare(index: number, spec: Spec): void {
    const path = `${api}/computes/db-${index}`;
    const found = this.find(path);
    if (found === undefined) this.send("POST", `${api}/computes`, manifest(`db-${index}`, spec));
    else this.send("PUT", path, { ...found, spec });
  }

  /** Changes fields of a spec, also of a Compute that is being deleted. */
  edit(index: number, spec: Spec): void {
    this.declare(index, { ...this.compute(index).spec, ...spec });
  }

  compute(index: number): Compute {
    return this.computeOf("default", `db-${index}`);
  }

  /** The connection Secrets that the Compute of this number owns. */
  secretsOf(index: number): Raw[] {
    const { uid } = this.compute(index).metadata;
    const { items }: { items: Raw[] } = this.send("GET", "/api/v1/namespaces/default/secrets");
    return items.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true);
  }

  /** `kubectl replace`: what the manifest does not say is dropped, finalizer and annotations among it. */
  replace(index: number, spec: Spec): void {
    const { resourceVersion } = this.compute(index).metadata;
    const { metadata, ...object } = manifest(`db-${index}`, spec);
    this.send("PUT", `${api}/computes/db-${index}`, { ...object, metadata: { ...metadata, resourceVersion } });
  }

  /** Gives a Compute this label and no other. */
  label(index: number, name: string, value: string): void {
    const path = `${api}/computes/db-${index}`;
    const object = this.send("GET", path);
    this.send("PUT", path, { ...object, metadata: { ...object.metadata, labels: { [name]: value } } });
  }

  /** Sets an annotation of ours, or with undefined takes it away. */
  annotate(index: number, name: string, value: string | undefined): void {
    const object = this.send("GET", `${api}/computes/db-${index}`);
    const { [`compute-operator.dev/${name}`]: _, ...others } = object.metadata.annotations ?? {};
    object.metadata.annotations = {
      ...others,
      ...(value !== undefined && { [`compute-operator.dev/${name}`]: value }),
    };
    this.send("PUT", `${api}/computes/db-${index}`, object);
  }

  /** Somebody replaces the status by an empty one. */
  wipeStatus(index: number): void {
    const path = `${api}/computes/db-${index}`;
    this.send("PUT", `${path}/status`, { ...this.send("GET", path), status: {} });
  }

  /** A person takes the finalizers away. */
  dropFinalizers(index: number): void {
    const path = `${api}/computes/db-${index}`;
    const object = this.send("GET", path);
    this.send("PUT", path, { ...object, metadata: { ...object.metadata, finalizers: [] } });
  }

  /** What the events with this reason say. */
  events(reason: string): string[] {
    return this.eventsOf("default")
      .filter((event) => event.reason === reason)
      .map(({ message }) => message);
  }

  /** How often an event with this reason was emitted: one that repeats is counted, not written again. */
  timesEmitted(reason: string): number {
    const emitted = this.eventsOf("default").filter((event) => event.reason === reason);
    return emitted.reduce((sum, { count = 1 }) => sum + count, 0);
  }

  /** `kubectl delete --wait=false`. */
  remove(index: number): void {
    this.send("DELETE", `${api}/computes/db-${index}`);
  }

  isGone(index: number): boolean {
    return this.find(`${api}/computes/db-${index}`) === undefined;
  }

  /** Lets time pass until all of them are Ready for what was declared last. */
  async settle(count: number): Promise<void> {
    const open = () => Array.from({ length: count }, (_, index) => this.compute(index)).filter((one) => !isReady(one));
    const shown = () => open().map((one) => JSON.stringify(one));
    await untilSo(this.clock, "all settle", () => open().length === 0, { shown });
  }

  /** How many reconciles of Computes have ended, of the operator that runs now. */
  async reconciles(): Promise<number> {
    const lines = (await this.metrics()).matchAll(/^compute_operator_reconcile_total\{kind="compute",.*\} (\d+)$/gm);
    return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Has every Compute of the connection reconciled once more, by a change of it that affects none of them. */
  lookAgain(): void {
    const path = `${api}/serviceconnections/default`;
    const connection = this.send("GET", path);
    const allowedProjects = connection.spec.allowedProjects?.length === 1 ? ["shop", "another"] : ["shop"];
    this.send("PUT", path, { ...connection, spec: { ...connection.spec, allowedProjects } });
  }

  /** The versions of all Computes, Secrets and events that there are. */
  get versions(): string[] {
    const paths = [`${api}/computes`, "/api/v1/namespaces/default/secrets", "/api/v1/namespaces/default/events"];
    return paths.flatMap((path) => {
      const { items }: { items: Raw[] } = this.send("GET", path);
      return items.map(({ metadata }) => `${path}/${metadata.name} ${metadata.resourceVersion}`);
    });
  }

  endpoint(id: string | undefined): Endpoint {
    const found = this.endpoints.find((one) => one.id === id);
    if (found === undefined) throw new Error(`the service has no endpoint ${id}`);
    return found;
  }
}
