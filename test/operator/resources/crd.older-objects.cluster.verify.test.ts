import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../../control-plane/control-plane.ts";
import { crdsServed } from "../../control-plane/crds.ts";
import { kubectl, runKubectl } from "../../control-plane/kubectl.ts";
import { eventually } from "../../support/eventually.ts";
import { shippedCRD } from "../../support/shipped-crd.ts";
import { manifest } from "./manifest.ts";

let cluster: ControlPlane;
const options = () => cluster.admin;

/** The CRD as it was before the rules for what is written. */
function olderCRD(): string {
  const text = JSON.stringify(shippedCRD("computes"));
  const older = text
    .replaceAll(/\{"rule":"self\.startsWith\('br-'\)","message":"[^"]*"\}/g, '{"rule":"true"}')
    .replaceAll(
      /\{"rule":"!self\.exists\(key, self\[key\]\.contains\('\$\{'\)\)","message":"[^"]*"\}/g,
      '{"rule":"true"}',
    );
  expect(older.split('{"rule":"true"}')).toHaveLength(3);
  return older;
}

const connectionSecret = {
  name: "shop-db",
  database: "shop",
  role: "app",
  template: { data: { DATABASE_URL: ["$", "{uri}"].join("") } },
};

beforeAll(async () => {
  cluster = await startControlPlane();
  await kubectl(["apply", "--server-side", "-f", "-"], { ...options(), input: olderCRD() });
  await crdsServed(options());
  const older = manifest("Compute", { branchID: "main", connectionSecret }, "older");
  const metadata = { name: "older", namespace: "default", finalizers: ["compute-operator.dev/endpoint"] };
  const input = JSON.stringify({ ...older, metadata });
  await kubectl(["create", "-f", "-"], { ...options(), input });
  await kubectl(["apply", "--server-side", "--force-conflicts", "-k", "crds"], options());
  // A rule takes effect a moment after it is stored.
  await eventually("the rules", async () => ((await created("--dry-run=server")).status === 0 ? undefined : "refused"));
});

afterAll(() => cluster?.stop());

function created(...flags: string[]) {
  const fresh = manifest("Compute", { branchID: "main" }, "fresh");
  return runKubectl(["create", "-f", "-", ...flags], { ...options(), input: JSON.stringify(fresh) });
}

const patch = (type: string, body: unknown, ...flags: string[]) =>
  runKubectl(["patch", "compute", "older", "--type", type, "-p", JSON.stringify(body), ...flags], options());

it("an object that is older than the rules can still be edited, reported on and let go, and a new one is refused", async () => {
  expect((await created()).stderr).toContain("an id begins with br-; for a name use branchName");
  expect(await patch("merge", { spec: { branchID: "preview" } })).toMatchObject({ status: 1 });
  expect(await patch("merge", { spec: { deletionPolicy: "Retain" } })).toMatchObject({ status: 0 });
  const status = [{ op: "add", path: "/status/state", value: "NotCreated" }];
  expect(await patch("json", status, "--subresource=status")).toMatchObject({ status: 0 });
  await kubectl(["delete", "compute", "older", "--wait=false"], options());
  const finalizers = [{ op: "remove", path: "/metadata/finalizers/0" }];
  expect(await patch("json", finalizers)).toMatchObject({ status: 0 });
  expect((await runKubectl(["get", "compute", "older"], options())).stderr).toContain("not found");
});
