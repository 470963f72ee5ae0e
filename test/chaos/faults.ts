const creates = { method: "POST", route: "/projects/{project_id}/endpoints" } as const;
const restarts = { method: "POST", route: "/projects/{project_id}/endpoints/{endpoint_id}/restart" } as const;

/** Every kind there is but failing operations, which only a person can mend. */
const kinds = ["refuse", "drop-before", "drop-after", "cut", "html", "423", "429", "500", "503"] as const;

/** The rules for `PUT /_faults`: replies are lost most of all where that is most dangerous. */
export const faultRules: readonly object[] = [
  // Whatever chance has it, some are lost.
  { ...creates, kind: "drop-after", count: 3 },
  { ...creates, kind: "drop-after", rate: 0.12 },
  { ...creates, kind: "cut", rate: 0.04 },
  { ...creates, kind: "html", rate: 0.04 },
  { ...restarts, kind: "drop-after", rate: 0.1 },
  // Longer than an operator waits for the answer to a write.
  { kind: "delay", ms: 6000, rate: 0.005 },
  { kind: "delay", ms: 800, rate: 0.01 },
  ...kinds.map((kind) => ({ kind, rate: 0.015, ...(["423", "429"].includes(kind) ? { retryAfter: 1 } : {}) })),
];
