import { ClusterWorld, type ClusterWorldOptions, selected } from "../../integration/support/cluster-world.ts";
import { project } from "../../integration/support/seeded-service.ts";
import type { KubeObject } from "../../simulation/api-server/objects.ts";
import { type Kind, kinds, type View, viewOf } from "./view.ts";

/** A state, and the first object that the operator wrote in it. */
export interface Row {
  kind: Kind;
  /** What distinguishes the state from others with the same reason. */
  remark: string;
  object: KubeObject;
}

/** Which state is looked for; of the present generation, neither being deleted nor paused where left out. */
export type Wanted = Partial<View> & { name?: string; remark?: string };

/** An operation at the service takes seconds, so that no state is over before it is seen. */
const slow = { service: { timeScale: 0.1 } };
const group = "/apis/compute-operator.dev/v1alpha1";
export const endpoints = `/projects/${project}/endpoints`;

/** The operator, an API server and a service on a driven clock, with every version of every object that there was. */
export class HealthWorld extends ClusterWorld {
  readonly versions: KubeObject[] = [];
  readonly rows: Row[] = [];

  constructor(options: ClusterWorldOptions = {}) {
    super({ ...slow, ...options });
    this.versions.push(...this.server.store.all().filter(isOurs));
    this.server.store.subscribe(({ type, object }) => {
      if (type !== "DELETED" && isOurs(object)) this.versions.push(object);
    });
    this.namespace("shop", selected);
  }

  /** Lets time pass until an object is in this state, and records it as a row. */
  async row(kind: Kind, { name, remark = "", ...view }: Wanted): Promise<void> {
    const wanted: Partial<View> = { current: true, deleting: false, paused: false, ...view, kind };
    const isWanted = (object: KubeObject) => (name ?? object.metadata.name) === object.metadata.name && fits(object);
    const fits = (object: KubeObject) => {
      const shown = new Map<string, unknown>(Object.entries(viewOf(object)));
      return Object.entries(wanted).every(([field, value]) => shown.get(field) === value);
    };
    const found = () => this.versions.find(isWanted);
    await this.until(`${kind} ${JSON.stringify(wanted)}`, () => found() !== undefined);
    const object = found();
    if (object !== undefined) this.rows.push({ kind, remark, object });
  }

  create(kind: Kind, name: string, spec: Record<string, unknown>): void {
    this.send("POST", pathOf(kind), { apiVersion: "compute-operator.dev/v1alpha1", kind, metadata: { name }, spec });
  }

  /** Changes fields of the spec. */
  change(kind: Kind, name: string, spec: Record<string, unknown>): void {
    const path = `${pathOf(kind)}/${name}`;
    const found = this.send("GET", path);
    this.send("PUT", path, { ...found, spec: { ...found.spec, ...spec } });
  }

  delete(kind: Kind, name: string): void {
    this.send("DELETE", `${pathOf(kind)}/${name}`);
  }

  /** Gives an object an annotation of ours, or with undefined takes it away. */
  annotate(name: string, annotation: string, value: string | undefined, kind: Kind = "Compute"): void {
    const path = `${pathOf(kind)}/${name}`;
    const found = this.send("GET", path);
    const key = `compute-operator.dev/${annotation}`;
    const all = { ...found.metadata.annotations, [key]: value };
    this.send("PUT", path, { ...found, metadata: { ...found.metadata, annotations: all } });
  }

  get endpointID(): string | undefined {
    return this.endpoints[0]?.id;
  }
}

function pathOf(kind: Kind): string {
  const plural = kind === "Branch" ? "branches" : `${kind.toLowerCase()}s`;
  return kind === "ClusterServiceConnection" ? `${group}/${plural}` : `${group}/namespaces/shop/${plural}`;
}

function isOurs({ kind }: KubeObject): boolean {
  return kinds.some((ours) => ours === kind);
}
