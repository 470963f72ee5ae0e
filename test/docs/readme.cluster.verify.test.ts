import { readFileSync } from "node:fs";
import { expect, inject, it } from "vitest";
import { kubectl } from "../control-plane/kubectl.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { blocksOf, commandsOf, wordsOf } from "./blocks.ts";

it("every manifest and every kubectl command of the README works as it stands, in the order in which it stands", async () => {
  const cluster = { kubeconfig: inject("kubeconfig"), kubectl: inject("kubectl") };
  await using service = await ServiceProcess.start({
    seed: readFileSync("deploy/samples/service-seed.yaml", "utf8"),
    timeScale: 5,
  });
  await using _ = await OperatorProcess.start({
    kubeconfig: cluster.kubeconfig,
    allowedBaseURLs: [service.baseURL],
    namespaces: ["shop"],
  });
  // The service of the README listens on its usual port; here it is any free one.
  const apply = (manifest: string) =>
    kubectl(["apply", "-f", "-"], {
      ...cluster,
      input: manifest.replaceAll("http://127.0.0.1:8090/api/v2", service.baseURL),
    });
  await apply(readFileSync("deploy/samples/namespace.yaml", "utf8"));
  await apply(readFileSync("deploy/samples/connection.yaml", "utf8"));
  for (const manifest of blocksOf("README.md", "yaml")) await apply(manifest);
  await apply(readFileSync("deploy/samples/pool.yaml", "utf8"));
  // A row of inline code may be a command too.
  const inline = [...readFileSync("README.md", "utf8").matchAll(/`(kubectl (?:scale|explain) [^`]+)`/g)].map(
    ([, text = ""]) => text,
  );
  const uris: string[] = [];
  for (const command of [...commandsOf("README.md"), ...inline]) {
    const [program, ...args] = wordsOf(command);
    if (program === "kubectl") await kubectl(args, cluster);
    // What a client connects with; that psql takes such a URI is another test's.
    const [, asked = ""] = /^psql "\$\(kubectl (.*) \| base64 -d\)"/.exec(command) ?? [];
    if (asked !== "") uris.push(Buffer.from(await kubectl(wordsOf(asked), cluster), "base64").toString());
  }
  expect(uris).toEqual([expect.stringMatching(/^postgresql:\/\/neondb_owner:.+@ep-/)]);
  expect(
    await kubectl(["get", "compute", "shop-primary", "-n", "shop", "-o", "jsonpath={.status.restartedAt}"], cluster),
  ).toBe("monday");
  await kubectl(["annotate", "compute", "--all", "-n", "shop", "compute-operator.dev/paused-"], cluster);
  await kubectl(["delete", "computepool,compute", "--all", "-n", "shop", "--timeout=60s"], cluster);
});
