export type Kind = "Compute" | "ServiceConnection" | "ComputePool" | "Branch";

/** Fields of a manifest's spec set to a value; undefined takes a field away. */
export type Fields = Readonly<Record<string, unknown>>;

const computeBase = { projectID: "shiny-wind-028834", branchID: "br-aged-salad-637688" };

const bases: Readonly<Record<Kind, Fields>> = {
  Compute: computeBase,
  ServiceConnection: { baseURL: "https://console.example.com/api/v2", apiKeySecretRef: { name: "service" } },
  ComputePool: { replicas: 2, template: computeBase },
  Branch: { projectID: "shiny-wind-028834", expiry: { never: true } },
};

/** A whole manifest: the least that passes, with `fields` laid over its spec. */
export function manifest(kind: Kind, fields: Fields = {}, name = "sample") {
  const spec = Object.entries({ ...bases[kind], ...fields }).filter(([, value]) => value !== undefined);
  return { apiVersion: "compute-operator.dev/v1alpha1", kind, metadata: { name }, spec: Object.fromEntries(spec) };
}

/** A ComputePool's template with `fields` laid over it. */
export function template(fields: Fields): Fields {
  return { template: { ...computeBase, ...fields } };
}

/** The size of a compute. */
export function units(min: unknown, max: unknown): Fields {
  return { computeUnits: { min, max } };
}

/** Scale to zero after a while. */
export function after(text: unknown, enabled = true): Fields {
  return { scaleToZero: { enabled, after: text } };
}
