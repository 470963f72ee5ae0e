import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { expect, test } from "vitest";

const script = readFileSync("deploy/helm/compute-operator/files/ready.mjs", "utf8");

/** The exit code of the pod that `helm test` starts, where the metrics are this text. */
async function testOn(metrics: string): Promise<number | null> {
  const server = createServer((_, response) => response.end(metrics));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    env: { METRICS_URL: `http://127.0.0.1:${port}/metrics`, TRIES: "1" },
    stdio: "ignore",
  });
  const [code] = await once(child, "exit");
  server.closeAllConnections();
  server.close();
  return code;
}

test("helm test passes where a replica answers with its metrics", async () => {
  expect(await testOn("# TYPE compute_operator_leader gauge\ncompute_operator_leader 1\n")).toBe(0);
});

test("helm test fails where something else answers", async () => {
  expect(await testOn("It works!\n")).toBe(1);
});
