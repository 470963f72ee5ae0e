import { ClusterError, ClusterUnreachable, isAlreadyExists } from "../../../src/operator/kube/errors.ts";
import { NotLeader } from "../../../src/operator/kube/leadership.ts";
import { realCandidate } from "./candidates.ts";
import { configMap, configMaps } from "./config-maps.ts";

// A process that stands for election and, as long as it leads, writes as fast as it can: each write makes one object,
// named after the process and numbered. Arguments: kubeconfig, namespace, identity.
const [kubeconfig = "", namespace = "", identity = ""] = process.argv.slice(2);
const { client } = realCandidate(kubeconfig, namespace, identity);

for (let n = 0; ; ) {
  try {
    await client.create(configMaps, configMap(namespace, `${identity}-${n}`));
    console.log(`wrote ${n}`);
    n += 1;
  } catch (error) {
    if (isAlreadyExists(error)) n += 1;
    else if (!(error instanceof NotLeader || error instanceof ClusterUnreachable || error instanceof ClusterError))
      throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
}
