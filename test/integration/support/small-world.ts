import { type Endpoint, EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { createOperator, type Operator, type OperatorSettings } from "../../../src/operator/operator.ts";
import { type Compute, parseCompute } from "../../../src/operator/resources/compute.ts";
import type { Random } from "../../../src/operator/runtime/clock.ts";
import type { Logger } from "../../../src/operator/runtime/log.ts";
import type { Tracer } from "../../../src/operator/runtime/tracer.ts";
import type { ServiceOptions } from "../../../src/service/options.ts";
import { type ClusterWeather, calm } from "../../simulation/api-server/faults.ts";
import { underShippedRights } from "../../simulation/api-server/rights.ts";
import { ApiServer } from "../../simulation/api-server/server.ts";
import { InMemoryClusterTransport } from "../../simulation/api-server/transport.ts";
import { seededRandom } from "../../simulation/random.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import type { Raw } from "./cluster-admin.ts";
import { connectNamespace, inMemorySettings, wholeMilliseconds } from "./in-memory.ts";
import { manifest } from "./manifests.ts";
import { Network } from "./network.ts";
import { isReady } from "./scenario.ts";
import { goodKey, newService, type SeededService } from "./seeded-service.ts";
import type { Spec } from "./specs.ts";

/** What may suspend does so within a minute. */
const timeScale = 10_000;
const api = "/apis/compute-operator.dev/v1alpha1/namespaces/default";

/** The whole system in this process on a driven clock: API server in memory, operator, service. */
export class SmallWorld implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly network = new Network();
  readonly server: ApiServer;
  readonly #random: Random;
  readonly #weather: ClusterWeather;
  readonly #settings: Partial<OperatorSettings>;
  readonly #tracer: Tracer | undefined;
  readonly #log: Logger;
  #stop = new AbortController();
  #operator: Operator | undefined;
  #running: Promise<void>;
  readonly #branches: readonly string[];
  readonly host: ReturnType<Network["connect"]>;

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
    this.#settings = settings;
    this.#log = log;
    const { clock } = this;
    this.#tracer = tracerOn(clock);
    this.#weather = weather;
    const random = seededRandom(seed);
    this.#random = random;
    this.#branches = branches;
    this.server = new ApiServer({ clock, random });
    this.host = this.network.connect(
      "service.test",
      newService({
        branches: this.#branches,
        clock: wholeMilliseconds(clock),
        ...(plan && { plan }),
        service: { timeScale, ...service },
      }),
    );
    installCRDs(this.server, ["computes", "serviceconnections", "computepools", "branches"]);
    connectNamespace("default", (path, body) => this.send("POST", path, body));
    this.#running = this.#run();
  }

  #run(): Promise<void> {
    const ports = {
      clusterTransport: new InMemoryClusterTransport(underShippedRights(this.server), this.clock, this.#weather),
      serviceTransport: this.network,
      clock: this.clock,
      random: this.#random,
      log: this.#log,
      tracer: this.#tracer,
    };
    this.#operator = createOperator(ports, {
      ...inMemorySettings,
      ...this.#settings,
    });
    return this.#operator.run(this.#stop.signal);
  }

  /** Another service that connections may lead to. */
  connect(name: string, branches: readonly string[]): ReturnType<Network["connect"]> {
    return this.network.connect(name, newService({ branches, clock: this.clock, service: { timeScale } }));
  }

  send(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown) {
    const answer = this.server.handle({ method, path, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return JSON.parse(JSON.stringify(answer.body));
  }

  /** Gives the Compute of this number a spec. */
  declare(index: number, spec: Spec): void {
    const path = `${api}/computes/db-${index}`;
    const found = this.server.handle({ method: "GET", path });
    if (found.status === 404) this.send("POST", `${api}/computes`, manifest(`db-${index}`, spec));
    else this.send("PUT", path, { ...this.send("GET", path), spec });
  }

  /** Changes fields of a spec, also of a Compute that is being deleted. */
  edit(index: number, spec: Spec): void {
    this.declare(index, { ...this.compute(index).spec, ...spec });
  }

  compute(index: number): Compute {
    const parsed = parseCompute(this.send("GET", `${api}/computes/db-${index}`));
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.value;
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
    const { items }: { items: { reason: string; message: string }[] } = this.send(
      "GET",
      "/api/v1/namespaces/default/events",
    );
    return items.filter((event) => event.reason === reason).map(({ message }) => message);
  }

  /** How often an event with this reason was emitted: one that repeats is counted, not written again. */
  timesEmitted(reason: string): number {
    const { items }: { items: { reason: string; count?: number }[] } = this.send(
      "GET",
      "/api/v1/namespaces/default/events",
    );
    return items.filter((event) => event.reason === reason).reduce((sum, { count = 1 }) => sum + count, 0);
  }

  /** `kubectl delete --wait=false`. */
  remove(index: number): void {
    this.send("DELETE", `${api}/computes/db-${index}`);
  }

  isGone(index: number): boolean {
    return this.server.handle({ method: "GET", path: `${api}/computes/db-${index}` }).status === 404;
  }

  /** Lets time pass until all of them are Ready for what was declared last. */
  async settle(count: number): Promise<void> {
    const settled = () => Array.from({ length: count }, (_, index) => this.compute(index)).every(isReady);
    for (let waited = 0; !settled() && waited < 600; waited++) await this.clock.advance(1000);
    const open = Array.from({ length: count }, (_, index) => this.compute(index)).filter((one) => !isReady(one));
    if (open.length > 0) throw new Error(`these do not settle: ${JSON.stringify(open)}`);
  }

  /** A scrape of the operator that runs now. */
  async metrics(): Promise<string> {
    return (await this.#operator?.metrics.text()) ?? "";
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

  /** What the operator did at the service. */
  get writes(): string[] {
    return this.host.calls.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
  }

  /** A call of somebody else's, behind the operator's back; answers the body. */
  console(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${goodKey}` };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const reply = this.host.service.call({ method, path: `/api/v2${path}`, headers, ...text });
    if (reply.status >= 300) throw new Error(`the service answers ${reply.status} to ${method} ${path}: ${reply.body}`);
    return JSON.parse(reply.body ?? "{}");
  }

  get endpoints(): Endpoint[] {
    return EndpointsAnswer.parse(this.console("GET", "/projects/shop/endpoints")).endpoints;
  }

  endpoint(id: string | undefined): Endpoint {
    const found = this.endpoints.find((one) => one.id === id);
    if (found === undefined) throw new Error(`the service has no endpoint ${id}`);
    return found;
  }

  /** Ends the operator, does something, and starts another that knows nothing of the first. */
  async restart(meanwhile: () => void = () => {}): Promise<void> {
    await this[Symbol.asyncDispose]();
    meanwhile();
    this.#stop = new AbortController();
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(10_000);
    await this.#running;
  }
}
