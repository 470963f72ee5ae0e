import { expect, it } from "vitest";
import { refreshBefore } from "../../../../src/service/postgres/fleet/catalog-refresh.ts";

const running = [
  { projectId: "shop", branchId: "br-main" },
  { projectId: "shop", branchId: "br-main" },
  { projectId: "shop", branchId: "br-preview" },
  { projectId: "bobs", branchId: "br-bob" },
];

async function refreshed(path: string, params: Record<string, string>): Promise<string[]> {
  const asked: string[] = [];
  await refreshBefore(
    { path, params },
    {
      running: () => running.map((endpoint) => ({ endpoint })),
      refresh: (branchId) => {
        asked.push(branchId);
        return Promise.resolve();
      },
    },
  );
  return asked;
}

it("a call about roles or databases asks the servers of its branch alone, and only where that is in its project", async () => {
  for (const path of ["roles/{role_name}", "databases", "databases/{database_name}", "schema", "compare_schema"]) {
    const ofBranch = `/projects/{project_id}/branches/{branch_id}/${path}`;
    expect([path, await refreshed(ofBranch, { project_id: "shop", branch_id: "br-main" })]).toEqual([
      path,
      ["br-main"],
    ]);
    expect([path, await refreshed(ofBranch, { project_id: "shop", branch_id: "br-bob" })]).toEqual([path, []]);
  }
  expect(await refreshed("/projects/{project_id}/connection_uri", { project_id: "shop" })).toEqual([
    "br-main",
    "br-preview",
  ]);
  for (const path of ["/projects/{project_id}", "/projects/{project_id}/branches/{branch_id}"]) {
    expect(await refreshed(path, { project_id: "shop", branch_id: "br-main" })).toEqual([]);
  }
});

it("pages and forms of the console about roles or databases ask the server of their branch, and others do not", async () => {
  const page = "/app/projects/{project_id}/branches/{branch_id}";
  const ask = (path: string) => refreshed(`${page}${path}`, { project_id: "shop", branch_id: "br-main" });
  for (const path of ["/roles", "/roles/delete", "/databases", "/query", "/computes/{endpoint_id}"]) {
    expect([path, await ask(path)]).toEqual([path, ["br-main"]]);
  }
  for (const path of ["", "/delete", "/computes", "/computes/{endpoint_id}/start"]) {
    expect([path, await ask(path)]).toEqual([path, []]);
  }
});
