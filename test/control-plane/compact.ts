import { z } from "zod";

const answer = z.object({ header: z.object({ revision: z.string() }) });

/** Drops every revision before the newest from an etcd. */
export async function compact(etcdURL: string): Promise<void> {
  const { header } = answer.parse(await post(etcdURL, "/v3/kv/range", { key: btoa("/"), limit: "1" }));
  await post(etcdURL, "/v3/kv/compaction", { revision: header.revision, physical: true });
}

async function post(etcdURL: string, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${etcdURL}${path}`, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd answers ${response.status} to ${path}: ${await response.text()}`);
  return response.json();
}
