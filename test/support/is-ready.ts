/** An object as the API server answers it, or as it was read. */
export interface Shown {
  metadata: { generation?: number | undefined };
  status?: object | undefined;
}

/** True if an object is Ready for the spec that it has now. */
export function isReady({ metadata, status = {} }: Shown): boolean {
  const conditions: readonly object[] =
    "conditions" in status && Array.isArray(status.conditions) ? status.conditions : [];
  const isTrue = conditions.some(
    (condition) =>
      "type" in condition && condition.type === "Ready" && "status" in condition && condition.status === "True",
  );
  return isTrue && "observedGeneration" in status && status.observedGeneration === metadata.generation;
}
