import { beforeAll, describe, expect, it } from "vitest";
import { createNamespace, kubectl, tryKubectl } from "../control-plane/shared-control-plane.ts";
import { eventually } from "../support/eventually.ts";
import { needsTools } from "../tools/tools.ts";
import { type Deployment, deploymentsOf, helm, kustomize, type Rendered } from "./render.ts";

needsTools("helm");

// The pods as they are installed, tried on a real API server: with its own admission of the Pod Security Standards, and
// with OpenShift's restricted-v2 written as a policy. The namespace has the annotations that OpenShift gives it.

const firstUser = 1000680000;
const ranges = {
  "openshift.io/sa.scc.uid-range": `${firstUser}/10000`,
  "openshift.io/sa.scc.supplemental-groups": `${firstUser}/10000`,
  "openshift.io/sa.scc.mcs": "s0:c26,c15",
};

let standard = "";
let openshift = "";

/** Whether a pod of the Deployment is admitted in a namespace; nothing is stored. */
function tried({ spec }: Deployment, namespace: string) {
  const { metadata, spec: pod } = spec.template;
  const object = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "tried", namespace }, spec: pod };
  return tryKubectl(["create", "--dry-run=server", "-f", "-"], { input: JSON.stringify(object) });
}

function deploymentOf(objects: readonly Rendered[]): Deployment {
  const [first] = deploymentsOf(objects);
  if (first === undefined) throw new Error("there is no Deployment");
  return first;
}

beforeAll(async () => {
  [standard, openshift] = await Promise.all([createNamespace("restricted"), createNamespace("openshift")]);
  await kubectl(["label", "namespace", standard, "pod-security.kubernetes.io/enforce=restricted"]);
  await kubectl(["label", "namespace", openshift, "test.example.com/scc=restricted-v2"]);
  const annotations = Object.entries(ranges).map(([key, value]) => `${key}=${value}`);
  await kubectl(["annotate", "namespace", openshift, ...annotations]);
  await kubectl(["apply", "-f", "test/deploy/openshift/restricted-v2.yaml"]);
  const escalating = deploymentOf(await helm("securityContext.allowPrivilegeEscalation=true"));
  // A policy takes effect a moment after it is stored, and a label a moment after it is set.
  for (const namespace of [standard, openshift]) {
    await eventually(`the policy of ${namespace} to take effect`, async () =>
      (await tried(escalating, namespace)).status === 0 ? undefined : "refused",
    );
  }
});

/** Everything that a value can put into the pod, as it is allowed there. */
const full = [
  'image={"registry":"registry.example.com","pullPolicy":"Always"}',
  'extraVolumes=[{"name":"scratch","emptyDir":{}},{"name":"ca","configMap":{"name":"ca"}}]',
  'extraVolumeMounts=[{"name":"scratch","mountPath":"/scratch"},{"name":"ca","mountPath":"/ca"}]',
  'extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"}]',
  'podLabels={"team":"shop"}',
];

describe("the operator's pods are admitted under the restricted Pod Security Standard and OpenShift's restricted-v2", () => {
  it.each<[string, () => Promise<Rendered[]>]>([
    ["of the chart", () => helm()],
    ["of the chart with volumes and variables", () => helm(...full)],
    ["of deploy", () => kustomize("deploy")],
    ["of deploy/overlays/high-availability", () => kustomize("deploy/overlays/high-availability")],
    ["of deploy/overlays/development", () => kustomize("deploy/overlays/development")],
  ])("%s", async (_, render) => {
    const objects = await render();
    for (const namespace of [standard, openshift]) {
      expect(await tried(deploymentOf(objects), namespace)).toMatchObject({ status: 0, stderr: "" });
    }
  });

  it("the chart's pods are admitted with a user and a group of the namespace", async () => {
    const ids = `podSecurityContext={"runAsUser":${firstUser + 1},"fsGroup":${firstUser}}`;
    expect(await tried(deploymentOf(await helm(ids)), openshift)).toMatchObject({ status: 0, stderr: "" });
  });
});

// A privileged container is refused by this API server itself, which is started without --allow-privileged.
describe("the rules refuse", () => {
  it.each([
    [
      "privilege escalation",
      "securityContext.allowPrivilegeEscalation=true",
      "allowPrivilegeEscalation",
      "allowPrivilegeEscalation != false",
    ],
    [
      "kept capabilities",
      "securityContext.capabilities.drop=[]",
      "requiredDropCapabilities",
      "unrestricted capabilities",
    ],
    ["added capabilities", 'securityContext.capabilities.add=["SYS_TIME"]', "allowedCapabilities", "SYS_TIME"],
    ["root", "podSecurityContext.runAsNonRoot=false", "no root", "runAsNonRoot != true"],
    ["any seccomp profile", 'podSecurityContext.seccompProfile.type="Unconfined"', "seccompProfiles", "seccompProfile"],
    [
      "a volume of the node",
      'extraVolumes=[{"name":"node","hostPath":{"path":"/"}}]',
      "volumes: configMap",
      "hostPath",
    ],
    [
      "SELinux options of another namespace",
      'podSecurityContext.seLinuxOptions={"level":"s0:c1,c2","type":"spc_t"}',
      "seLinuxContext",
      "seLinuxOptions",
    ],
    ["sysctls", 'podSecurityContext.sysctls=[{"name":"kernel.msgmax","value":"1"}]', "sysctls", "sysctls"],
  ])("%s, both of them", async (_, value, ofOpenshift, ofStandard) => {
    const deployment = deploymentOf(await helm(value));
    expect((await tried(deployment, openshift)).stderr).toContain(ofOpenshift);
    expect((await tried(deployment, standard)).stderr).toContain(ofStandard);
  });

  it.each([
    ["a user outside the namespace's range, as the image's is", "podSecurityContext.runAsUser=65532", "MustRunAsRange"],
    ["the same for the container", "securityContext.runAsUser=65532", "MustRunAsRange"],
    ["the first user after the range", `podSecurityContext.runAsUser=${firstUser + 10_000}`, "MustRunAsRange"],
    ["a group that is not the namespace's first", "podSecurityContext.fsGroup=65532", "fsGroup"],
  ])("%s, OpenShift only", async (_, value, message) => {
    const deployment = deploymentOf(await helm(value));
    expect((await tried(deployment, openshift)).stderr).toContain(message);
    expect((await tried(deployment, standard)).stderr).toBe("");
  });

  it.each(["hostNetwork", "hostPID", "hostIPC"])("%s, which no value of the chart sets", async (field) => {
    const { spec } = deploymentOf(await helm());
    const own = { ...spec.template, spec: { ...spec.template.spec, [field]: true } };
    const deployment = { spec: { ...spec, template: own } };
    expect((await tried(deployment, openshift)).stderr).toContain("allowHostNetwork, allowHostPID, allowHostIPC");
    expect((await tried(deployment, standard)).stderr).toContain("host namespaces");
  });
});
