import { type Compute, givenName } from "../../../src/operator/resources/compute.ts";

/** The versions that tools would take for finished although the spec that they have was not carried out. */
export function readyTooSoon(histories: readonly (readonly Compute[])[]): string[] {
  return histories.flat().flatMap((compute) => {
    if (!countsAsReady(compute)) return [];
    const wrong = notCarriedOut(compute);
    const { name, namespace, generation } = compute.metadata;
    return wrong === undefined ? [] : [`${namespace}/${name}, generation ${generation}: ${wrong}`];
  });
}

/**
 * As any tool reads it: `kubectl wait --for=condition=Ready` goes by the condition's generation alone; kstatus, and
 * with it Flux, by the status's, and by Reconciling and Stalled.
 */
function countsAsReady({ metadata, status }: Compute): boolean {
  const is = (type: string) => status.conditions?.find((condition) => condition.type === type);
  const ready = is("Ready");
  if (ready?.status !== "True") return false;
  const current = (generation: number | undefined) =>
    generation === undefined || generation >= (metadata.generation ?? 0);
  const byKubectl = current(ready.observedGeneration ?? status.observedGeneration);
  const failedWrite = [is("Reconciling"), is("Stalled")].some((condition) => condition?.status === "True");
  const byKstatus = current(status.observedGeneration) && !failedWrite && metadata.deletionTimestamp === undefined;
  return byKubectl || byKstatus;
}

function notCarriedOut({ metadata, spec, status }: Compute): string | undefined {
  if (spec.managementPolicy === "Observe") return undefined;
  if (status.appliedGeneration !== metadata.generation) return `applied was ${status.appliedGeneration}`;
  if (["Drifted", "WaitingForWindow", "WaitingForTurn"].includes(status.conditions?.[0]?.reason ?? ""))
    return undefined;
  const { resolvedBranch } = status;
  if (resolvedBranch?.name !== givenName(spec)) return `the name of its branch is ${resolvedBranch?.name}`;
  if (status.branchID !== (spec.branchID ?? resolvedBranch?.id)) return `its branch is ${status.branchID}`;
  const { computeUnits: wanted } = spec;
  const size = status.computeUnits;
  if (wanted !== undefined && (size?.min !== wanted.min || size.max !== wanted.max))
    return `its size is ${status.size}`;
  if (spec.disabled !== undefined && status.disabled !== spec.disabled) return `disabled is ${status.disabled}`;
  return undefined;
}
