import { stringify } from "yaml";

export const projects = 10;
export const computesPerProject = 1000;
/** Each account may send 700 requests a minute: many together send more than the service can answer. */
export const accounts = 100;

/** A seed with 10,000 computes, all on one branch for each project. Everyone administers all of it. */
export function largeSeed(): string {
  const everyone = Array.from({ length: accounts }, (_, index) => `acc-${index}`);
  return stringify({
    accounts: everyone.map((id, index) => ({
      id,
      email: `${id}@example.com`,
      apiKeys: [{ name: "bench", key: `key-${index}` }],
    })),
    organizations: [{ id: "org", plan: "scale", members: everyone.map((account) => ({ account, role: "admin" })) }],
    projects: Array.from({ length: projects }, (_, project) => ({
      id: `project-${project}`,
      owner: "org",
      branches: [{ id: `br-${project}`, name: "main" }],
      endpoints: Array.from({ length: computesPerProject }, (__, compute) => ({
        id: `ep-${project}-${compute}`,
        branchID: `br-${project}`,
        type: compute === 0 ? "read_write" : "read_only",
        name: `k8s-00000000-0000-4000-8000-${String(compute).padStart(12, "0")}`,
      })),
    })),
  });
}
