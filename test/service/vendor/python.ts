// `npm run verify:long -- clients`: a session of Python's neon-api, unmodified, against the service. It needs Python 3,
// and installs the client into a virtual environment in the cache. Every answer is checked against the public OpenAPI
// file.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { cachedPython } from "../../support/cached-python.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys, project } from "../support/shop.ts";
import { PublicApi } from "./public-api.ts";

const client = "neon-api==0.3.0";

const python = cachedPython(client);

await using shop = await ListeningShop.start({
  timeScale: 200,
  rateLimits: { perMinute: 1e6, perSecondAndRoute: 1e6 },
});
const session = join(import.meta.dirname, "neon_api_session.py");
const { status, calls } = await play(python, [session, shop.baseURL, keys.ana, project]);
const api = new PublicApi();
const problems = shop.sent.flatMap(({ method, path, status: answered, body }) => {
  const parsed: unknown = body === "" ? undefined : JSON.parse(body);
  return api.problems(method, path.replace("/api/v2", ""), answered, parsed);
});
for (const problem of new Set(problems)) console.error(problem);
console.log(`clients: ${client}: ${calls} calls, ${new Set(problems).size} answers unlike the public OpenAPI file`);
process.exitCode = status === 0 && problems.length === 0 ? 0 : 1;

/** The service runs in this process: the client must not block it. */
function play(command: string, args: readonly string[]): Promise<{ status: number | null; calls: number }> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.on("data", (data) => {
      printed += String(data);
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ status: code, calls: printed.split("\n").filter(Boolean).length }));
  });
}
