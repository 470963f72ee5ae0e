import { signatureOfUID, uidInSignature } from "../simulation/world/computes.ts";
import type { Evidence } from "./evidence.ts";

/** Of a log: what an error says comes first, and its stack last. */
const longestLine = 500;

/** Everything that is known of whom a complaint names, in its order: what to understand a failure from. */
export function historyOf(
  complaint: string,
  { endpointHistory, requests, workloadHistory }: Evidence,
  logs: readonly string[],
): string[] {
  const reported = new Set(complaint.match(/ep-[a-z0-9-]+|k8s-[0-9a-f-]+|[a-z]+-(primary|replica|readers)-\d+/g) ?? []);
  // A Compute leads to its signatures, an endpoint to its own, and that to the endpoint's twins and to the Compute.
  for (const [uid, name] of workloadHistory.made) if (reported.has(name)) reported.add(signatureOfUID(uid));
  for (const { endpoint, name } of endpointHistory) if (name !== null && reported.has(endpoint)) reported.add(name);
  for (const { endpoint, name } of endpointHistory) if (name !== null && reported.has(name)) reported.add(endpoint);
  for (const name of reported) {
    const compute = workloadHistory.made.get(uidInSignature(name) ?? "");
    if (compute !== undefined) reported.add(compute);
  }
  const about = (text: string) => (text.match(/[a-z0-9-]+/g) ?? []).some((word) => reported.has(word));
  const events = [
    ...endpointHistory
      .filter(({ endpoint }) => reported.has(endpoint))
      .map(({ at, what, endpoint, name }) => ({ at, line: `service  ${what} ${endpoint} (${name})` })),
    ...requests
      .filter(({ method, path, body }) => method !== "GET" && about(`${path} ${body}`))
      .map(({ arrivedAt, method, path, body, status, answeredAt }) => ({
        at: performance.timeOrigin + arrivedAt,
        line: `operator ${method} ${path} ${body} -> ${answeredAt === undefined ? "no answer" : status}`,
      })),
    ...workloadHistory.history
      .filter(({ name }) => reported.has(name))
      .map(({ at, what, name }) => ({ at, line: `users    ${what} ${name}` })),
  ];
  return [
    ...events
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, line }) => `${new Date(at).toISOString().slice(11, 23)} ${line}`),
    ...logs.filter(about).map((line) => line.slice(0, longestLine)),
  ];
}
