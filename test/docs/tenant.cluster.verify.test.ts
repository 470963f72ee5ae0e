import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubectl, runKubectl } from "../control-plane/kubectl.ts";
import { goodKey } from "../integration/support/seeded-service.ts";
import { TenantStage } from "../integration/support/tenant-stage.ts";
import { eventually } from "../support/eventually.ts";
import { blocksOf } from "./blocks.ts";

// A tenant from empty to working, as docs/security.md says: the operator with the rights that it is shipped with, an
// administrator, and a person of the group team-shop.

/** A manifest of the page, for the service of the stage and what that has. */
const here = (manifest: string) =>
  manifest
    .replace("https://console.neon.tech/api/v2", "http://service.test/api/v2")
    .replaceAll("shiny-wind-028834", "shop")
    .replace("branchName: main", "branchName: br-main")
    .replace("database: shop, role: app", "database: neondb, role: neondb_owner");

const page = readFileSync("docs/security.md", "utf8");
const [byAdministrator = "", byTeam = ""] = blocksOf("docs/security.md", "yaml").map(here);
const [storesKey = ""] =
  /^kubectl create secret generic shops-api-key .*$/m.exec(readFileSync("docs/how-to.md", "utf8")) ?? [];

describe("a tenant that is set up as docs/security.md says", () => {
  let stage: TenantStage;
  let team = "";
  beforeAll(async () => {
    stage = await TenantStage.start(["access-labels", "annotations", "deletion-protection"]);
    team = await stage.kubeconfigFor({ name: "tessa", groups: ["team-shop"] });
    const given = storesKey
      .replace('"$NEW_KEY"', goodKey)
      .replace(/ --dry-run.*$/, "")
      .split(" ")
      .slice(1);
    await kubectl(given, stage.admin);
    await kubectl(["apply", "-k", "deploy/samples/guard-rails"], stage.admin);
    await kubectl(["apply", "-f", "-"], { ...stage.admin, input: byAdministrator });
  });
  afterAll(async () => stage?.stop());

  const tried = (args: readonly string[], input = "") => runKubectl(args, { ...stage.admin, kubeconfig: team, input });

  it("a team with the role edit gets a Compute that is Ready, and its connection Secret", async () => {
    await eventually("the role edit to include Computes", async () => {
      const { status } = await tried(["apply", "-f", "-"], byTeam);
      return status === 0 ? true : undefined;
    });
    await stage.ready("shop", "shop-primary");
    const { stdout } = await tried(["get", "secret", "shop-db", "-n", "shop", "-o", "jsonpath={.data.uri}"]);
    expect(Buffer.from(stdout, "base64").toString()).toMatch(/^postgresql:\/\/neondb_owner:.+@ep-/);
  });

  it("another project in the manifest is refused with ConnectionNotReady", async () => {
    expect(page).toMatch(/Another project in\s+the manifest is refused with `ConnectionNotReady`/);
    const other = byTeam.replace("projectID: shop", "projectID: billing").replace("name: shop-primary", "name: stray");
    expect(await tried(["apply", "-f", "-"], other.replace(/^ {2}connectionSecret.*\n/m, ""))).toMatchObject({
      status: 0,
    });
    await eventually("the reason of the other project", async () => {
      const path = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}';
      const { stdout } = await tried(["get", "compute", "stray", "-n", "shop", "-o", path]);
      return stdout === "ConnectionNotReady" ? stdout : undefined;
    });
  });

  it("a team exceeds no limit of the namespace, and reaches neither the key nor another connection", async () => {
    const larger = byTeam.replace("max: 2}", "max: 8}");
    expect((await tried(["apply", "-f", "-"], larger)).stderr).toContain("namespace shop allows at most 4 CU");
    for (const args of [
      ["get", "secret", "shops-api-key", "-n", "compute-operator-system"],
      ["delete", "csconn", "shop"],
      ["label", "namespace", "shop", "access.compute-operator.dev/max-compute-units=56", "--overwrite"],
    ]) {
      expect((await tried(args)).stderr).toMatch(/forbidden/i);
    }
  });
});
